// What all samples together show: the report's numbers, which are renewed with the words of the verdict.

import { acceptanceOf } from "../core/stats.js";

export class Findings {
  constructor(runs, prompts) {
    this.runs = runs;
    this.prompts = prompts;
    this.read();
    this.baseline = this.#runOf(this.report.baseline).number;
  }

  read() {
    this.report = JSON.parse(document.getElementById("report").textContent);
  }

  /** What the charts draw. `paired`: speed-ups by run and prompt; `places`: of each run, its drafts by position; `run`: the
   * one that is looked at, or where it cannot say, the first that can. */
  data(paired, places, run) {
    const rows = this.report.strategies.map((row) => {
      const { number, dash } = this.#runOf(row.label);
      return { ...row, number, dash, places: acceptanceOf(places(number)), isBaseline: row.label === this.report.baseline };
    });
    const chosen = rows.find((row) => row.number === run), baseline = rows.find((row) => row.isBaseline);
    return {
      rows, paired, prompts: this.prompts, baseline: baseline.name, isRelative: baseline.role !== "baseline",
      speculative: chosen?.losses ? chosen : rows.find((row) => row.losses),
    };
  }

  #runOf(label) {
    return this.runs.find((run) => run.label === label);
  }
}
