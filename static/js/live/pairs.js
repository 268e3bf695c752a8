// Speed-ups per prompt, by the definition that the report carries: paired with the baseline on the same prompt, repeat and
// load, the median over repeats. Intervals are the server's business. Kept up as samples end: in an hour they come by the
// ten thousand, and only what one of them changes is paired anew.

import { median } from "../core/stats.js";

export class Pairs {
  /** `baselineOf` returns the run that a run is relative to. */
  constructor(baselineOf) {
    this.baselineOf = baselineOf;
    this.speeds = new Map(); // run → by repeat and prompt, tokens per second
    this.points = new Map(); // run → prompt → {prompt, ratio}, where both it and the baseline have finished
  }

  /** A finished sample's speed; none where another attempt has taken its place. */
  note({ run, prompt, repeat, speed }) {
    if (!this.speeds.has(run)) this.speeds.set(run, []);
    (this.speeds.get(run)[repeat] ??= [])[prompt] = speed;
    const its = [...this.speeds.keys()].filter((other) => this.baselineOf(other) === run);
    for (const other of new Set([run, ...its])) this.#pair(other, prompt);
  }

  /** run → [{prompt, ratio}] */
  get all() {
    return new Map([...this.points].map(([run, points]) => [run, [...points.values()]]));
  }

  #pair(run, prompt) {
    const baseline = this.baselineOf(run);
    if (run === baseline) return;
    const alone = this.speeds.get(baseline) ?? [];
    const ratios = this.speeds.get(run).map((speeds, repeat) => speeds[prompt] / alone[repeat]?.[prompt])
      .filter((ratio) => ratio > 0 && Number.isFinite(ratio));
    if (!this.points.has(run)) this.points.set(run, new Map());
    const points = this.points.get(run);
    if (!ratios.length) points.delete(prompt);
    else if (points.has(prompt)) points.get(prompt).ratio = median(ratios);
    else points.set(prompt, { prompt, ratio: median(ratios) });
  }
}
