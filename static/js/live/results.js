// What each run made of each prompt: its speed-up, how much of its drafts was accepted, and whether its text is the target's.
// Kept up as samples end: in an hour they come by the ten thousand, and only what one of them changes is paired anew. Pure.

import { median } from "../core/stats.js";

const WORST = ["divergent", "tie", "not_compared", "identical"];
const sum = (values) => values.reduce((total, value) => total + value, 0);

export class Results {
  /** `baselineOf` returns the run that a run is relative to. */
  constructor(baselineOf = () => null) {
    this.baselineOf = baselineOf;
    this.byRun = new Map(); // run → prompt → repeat → { speed, drafts, accepted, audit }
    this.points = new Map(); // run → prompt → {prompt, ratio}, where both it and the baseline have finished
  }

  /** A finished sample; `row.is_finished` is false where another attempt begins it anew. */
  note({ run, prompt, repeat, is_finished: isFinished, speed, drafts_by_position: drafts = [], accepted_by_position: accepted = [], audit }) {
    if (!this.byRun.has(run)) this.byRun.set(run, new Map());
    const its = this.byRun.get(run);
    if (!its.has(prompt)) its.set(prompt, []);
    its.get(prompt)[repeat] = isFinished ? { speed, drafts, accepted, audit } : undefined;
    for (const other of this.byRun.keys()) if (other === run || this.baselineOf(other) === run) this.#pair(other, prompt);
  }

  /** Over all repeats: the speed-up, the accepted share, null without drafts, and the worst finding of the audit. */
  of(run, prompt) {
    const found = this.#repeats(run, prompt).filter(Boolean), drafted = sum(found.flatMap((one) => one.drafts));
    return {
      count: found.length,
      ratio: this.points.get(run)?.get(prompt)?.ratio,
      accepted: drafted ? sum(found.flatMap((one) => one.accepted)) / drafted : null,
      audit: WORST.find((outcome) => found.some((one) => one.audit === outcome)) ?? null,
    };
  }

  /** Speed-ups by the report's definition: run → [{prompt, ratio}]. Intervals are the server's business. */
  get paired() {
    return new Map([...this.points].map(([run, points]) => [run, [...points.values()]]));
  }

  /** How many of a run's drafts came so far as each position, and in how many it was accepted. */
  places(run) {
    const sums = { drafts: [], accepted: [] };
    for (const one of [...(this.byRun.get(run)?.values() ?? [])].flat().filter(Boolean)) {
      for (const [name, counts] of Object.entries(sums)) one[name].forEach((count, i) => (counts[i] = (counts[i] ?? 0) + count));
    }
    return sums;
  }

  /** Every prompt of which some sample is finished. */
  get prompts() {
    return [...new Set([...this.byRun.values()].flatMap((its) => [...its.keys()]))].sort((a, b) => a - b);
  }

  #repeats(run, prompt) {
    return this.byRun.get(run)?.get(prompt) ?? [];
  }

  /** The median over repeats, each paired with the baseline's. */
  #pair(run, prompt) {
    const baseline = this.baselineOf(run), alone = this.#repeats(baseline, prompt);
    if (run === baseline) return;
    const ratios = this.#repeats(run, prompt).map((one, repeat) => one?.speed / alone[repeat]?.speed)
      .filter((ratio) => ratio > 0 && Number.isFinite(ratio));
    if (!this.points.has(run)) this.points.set(run, new Map());
    const points = this.points.get(run);
    if (!ratios.length) points.delete(prompt);
    else if (points.has(prompt)) points.get(prompt).ratio = median(ratios);
    else points.set(prompt, { prompt, ratio: median(ratios) });
  }
}
