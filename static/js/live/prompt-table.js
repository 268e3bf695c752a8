// The sample browser: a row for each prompt, with each strategy's speed-up, accepted share and audit. A click leads to the race
// of the prompt and to a strategy's text of it.

import { become, sketch } from "../core/become.js";
import { scrolling } from "../core/tables.js";
import { percent, times } from "../core/words.js";

const AT_ONCE = 25;
const SHORT = 90; // characters of a prompt
const DIFFERS = { tie: ["≈", "differs by a numeric tie"], divergent: ["≠", "diverges"] };

export class PromptTable {
  /** `onOpen(prompt, run)` is called for whichever row or cell is chosen. */
  constructor(place, onOpen) {
    this.place = place;
    this.form = place.querySelector("form");
    this.rows = place.querySelector("#prompt-rows");
    this.order = { by: "prompt", isDown: false };
    this.most = AT_ONCE;
    this.data = null;
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", () => this.draw());
    this.rows.addEventListener("click", ({ target }) => {
      const { open, run, sort, more } = target.closest("button")?.dataset ?? {};
      if (open) onOpen(Number(open), Number(run) || null);
      if (sort) this.#sortBy(sort);
      if (more) this.most += AT_ONCE;
      if (sort || more) this.draw();
    });
  }

  /** `data`: `{runs, prompts, results}`, runs without the baseline. */
  draw(data = this.data) {
    this.data = data;
    if (!data) return;
    const all = rowsOf(data);
    this.place.hidden = !all.length;
    if (!all.length) return;
    this.#offer(data);
    const asked = { words: this.form.elements.words.value, category: this.form.elements.category.value, only: this.form.elements.only.value };
    const found = sorted(all.filter((row) => passes(row, asked)), this.order), shown = found.slice(0, this.most);
    become(this.rows, sketch("p", { class: "quiet", role: "status" }, `${found.length} of ${all.length} prompts`),
      scrolling("Prompts and results", this.#table(shown, data)),
      found.length > shown.length ? sketch("p", {}, sketch("button", { type: "button", "data-more": "1" }, `Show ${Math.min(AT_ONCE, found.length - shown.length)} more`)) : null);
  }

  #sortBy(by) {
    this.order = { by, isDown: this.order.by === by ? !this.order.isDown : by !== "prompt" && by !== "category" };
  }

  /** Choices that the data have. */
  #offer({ prompts, runs }) {
    const { category, only } = this.form.elements;
    const names = [...new Set([...prompts.values()].map((prompt) => prompt.category).filter(Boolean))].sort();
    category.hidden = names.length < 2;
    const [first, second] = category.options;
    if (category.options.length !== names.length + 1) category.replaceChildren(first, ...names.map((name) => new Option(name, name)));
    if (second === undefined && !names.length) category.replaceChildren(first);
    for (const { number, name } of runs) {
      if (!only.querySelector(`[value="slower ${number}"]`)) only.append(new Option(`where ${name} is slower`, `slower ${number}`));
    }
  }

  #table(rows, { runs, prompts }) {
    const head = (by, text, cls = null) => sketch("th", { scope: "col", class: cls, "aria-sort": this.order.by !== by ? "none" : this.order.isDown ? "descending" : "ascending" },
      sketch("button", { type: "button", class: "plain", "data-sort": by }, text));
    const hasWords = [...prompts.values()].some((prompt) => prompt.text);
    return sketch("table", { class: "prompt-table" },
      sketch("thead", {}, sketch("tr", {}, head("prompt", "Prompt"), hasWords ? sketch("th", { scope: "col" }, "Ends with") : null,
        ...runs.map((run) => head(String(run.number), run.name, "num")))),
      sketch("tbody", {}, ...rows.map((row) => sketch("tr", {},
        sketch("th", { scope: "row" }, sketch("button", { type: "button", class: "plain", "data-open": row.prompt }, `${row.prompt}`),
          row.category ? sketch("span", { class: "quiet" }, ` ${row.category}`) : null),
        hasWords ? sketch("td", { class: "words" }, row.text.slice(-SHORT)) : null,
        ...row.cells.map((cell) => sketch("td", { class: "num" }, cellOf(row, cell)))))));
  }
}

function cellOf({ prompt }, { run, ratio, accepted, audit, count }) {
  if (!count) return "–";
  const [sign, words] = DIFFERS[audit] ?? ["", ""];
  return sketch("button", { type: "button", class: "plain", tabindex: -1, "data-open": prompt, "data-run": run },
    times(ratio), sketch("span", { class: "quiet" }, accepted === null ? "" : ` ${percent(accepted)}`),
    sign ? sketch("span", { class: audit === "tie" ? "warn" : "bad", title: words }, ` ${sign}`) : null);
}

/** A row for each prompt with a finished sample. */
export function rowsOf({ runs, prompts, results }) {
  return results.prompts.map((prompt) => ({
    prompt, ...{ category: "", text: "", ...prompts.get(prompt) },
    cells: runs.map(({ number }) => ({ run: number, ...results.of(number, prompt) })),
  }));
}

/** Whether somebody who asks for this wants the row. */
export function passes({ text, category, cells }, asked) {
  if (asked.words && !text.toLowerCase().includes(asked.words.toLowerCase())) return false;
  if (asked.category && category !== asked.category) return false;
  if (asked.only === "differs") return cells.some(({ audit }) => audit in DIFFERS);
  const [, run] = asked.only.split(" ");
  return !run || cells.some((cell) => cell.run === Number(run) && cell.ratio < 1);
}

/** By the prompt, or by a run's speed-up; what has none comes last. */
export function sorted(rows, { by, isDown }) {
  const value = (row) => (by === "prompt" ? row.prompt : row.cells.find(({ run }) => run === Number(by))?.ratio);
  const has = (row) => Number.isFinite(value(row));
  return [...rows].sort((one, other) => has(other) - has(one) || (isDown ? -1 : 1) * (value(one) - value(other)) || one.prompt - other.prompt);
}
