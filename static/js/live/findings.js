// What all samples together show: the report's numbers, which are renewed with the words of the verdict.

import { acceptanceOf } from "../core/stats.js";

export class Findings {
  constructor(runs, prompts) {
    this.runs = runs;
    this.prompts = prompts;
    this.read();
  }

  read() {
    this.report = JSON.parse(document.getElementById("report").textContent);
  }

  /** What the charts draw. `results`: of each run and prompt; `run`: the one that is looked at, or where it cannot say, the first
   * that can. `rows` are those of its load, `everyRow` of all. */
  data(results, run) {
    const everyRow = this.report.strategies.map((row) => {
      const { number, dash } = this.#runOf(row.label);
      return { ...row, number, dash, places: acceptanceOf(results.places(number)), isBaseline: row.is_baseline };
    });
    const { baseline: beside } = this.runs.find(({ number }) => number === run);
    const rows = everyRow.filter((row) => this.#runOf(row.label).baseline === beside);
    const chosen = rows.find((row) => row.number === run), baseline = rows.find((row) => row.isBaseline);
    const drafts = (row) => row?.num_spec_steps;
    const speculative = drafts(chosen) ? chosen : rows.find(drafts);
    return {
      rows, everyRow, report: this.report, results, paired: results.paired, prompts: this.prompts,
      baseline: baseline.name, baselineSettings: baseline.settings, isRelative: baseline.role !== "baseline",
      speculative, explained: chosen && chosen.role !== "baseline" ? chosen : speculative,
    };
  }

  #runOf(label) {
    return this.runs.find((run) => run.label === label);
  }
}
