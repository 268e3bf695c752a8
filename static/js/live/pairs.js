// Speed-ups per prompt, by the definition that the report carries: paired with the baseline on the same prompt and repeat,
// the median over repeats. Intervals are the server's business. Kept up as samples end: in an hour they come by the ten
// thousand, and only what one of them changes is paired anew.

import { median } from "../core/stats.js";

export class Pairs {
  constructor(baseline) {
    this.baseline = baseline;
    this.speeds = new Map(); // run → by repeat and prompt, tokens per second
    this.points = new Map(); // run → prompt → {prompt, ratio}, where both it and the baseline have finished
  }

  /** A finished sample's speed; none where another attempt has taken its place. */
  note({ run, prompt, repeat, tokens_per_s }) {
    if (!this.speeds.has(run)) this.speeds.set(run, []);
    (this.speeds.get(run)[repeat] ??= [])[prompt] = tokens_per_s;
    for (const other of run === this.baseline ? this.speeds.keys() : [run]) this.#pair(other, prompt);
  }

  /** run → [{prompt, ratio}] */
  get all() {
    return new Map([...this.points].map(([run, points]) => [run, [...points.values()]]));
  }

  #pair(run, prompt) {
    if (run === this.baseline) return;
    const alone = this.speeds.get(this.baseline) ?? [];
    const ratios = this.speeds.get(run).map((speeds, repeat) => speeds[prompt] / alone[repeat]?.[prompt])
      .filter((ratio) => ratio > 0 && Number.isFinite(ratio));
    if (!this.points.has(run)) this.points.set(run, new Map());
    const points = this.points.get(run);
    if (!ratios.length) points.delete(prompt);
    else if (points.has(prompt)) points.get(prompt).ratio = median(ratios);
    else points.set(prompt, { prompt, ratio: median(ratios) });
  }
}
