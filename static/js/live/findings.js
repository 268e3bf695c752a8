// What all samples together show: the charts below the text, their sentences and their tables. The report's numbers come
// and are renewed with the words of the verdict.

import { advice, forest, histogram, positions, waterfall } from "./evidence.js";
import { acceptanceOf } from "../core/stats.js";
import { ofForest, ofHistogram, ofPositions } from "./summaries.js";
import { say } from "./race.js";
import { describe } from "../core/svg.js";
import { twins } from "./twins.js";

const $ = (selector) => document.querySelector(selector);

export class Findings {
  constructor(runs, prompts) {
    this.runs = runs;
    this.prompts = prompts;
    this.read();
    this.baseline = this.#runOf(this.report.baseline).number;
  }

  read() {
    this.report = JSON.parse($("#report").textContent);
  }

  /** `paired`: speed-ups by run and prompt; `places`: of each run, its drafts by position; `run`: the one that is looked at, or where it cannot say, the first that can. */
  draw(paired, places, run) {
    if (!this.report.samples) return;
    const rows = this.report.strategies.map((row) => {
      const { number, dash } = this.#runOf(row.label);
      return { ...row, number, dash, isBaseline: row.label === this.report.baseline };
    });
    for (const row of rows) row.places = acceptanceOf(places(row.number));
    const chosen = rows.find((row) => row.number === run);
    const speculative = chosen?.losses ? chosen : rows.find((row) => row.losses);
    this.#charts(rows, speculative, paired);
    this.#words(rows, speculative, paired);
    twins({ rows, paired, speculative, prompts: this.prompts });
    $("#evidence").hidden = false;
  }

  #charts(rows, speculative, paired) {
    forest($("#forest"), rows, paired);
    positions($("#positions"), rows);
    histogram($("#histogram"), speculative);
    waterfall($("#waterfall"), speculative);
  }

  #words(rows, speculative, paired) {
    const tried = speculative?.losses ? advice(speculative.losses) : "";
    describe($("#forest"), ofForest(rows, paired));
    describe($("#positions"), ofPositions(rows.filter((row) => row.role !== "baseline")));
    describe($("#histogram"), ofHistogram(speculative?.name, speculative?.acceptance_histogram ?? []));
    describe($("#waterfall"), tried);
    say($("#advice"), tried);
    for (const place of document.querySelectorAll("[data-chosen]")) say(place, speculative?.name ?? "");
  }

  #runOf(label) {
    return this.runs.find((run) => run.label === label);
  }
}
