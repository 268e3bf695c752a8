// The text that is read, and every picture of its rounds: whichever round is chosen in one is chosen in all.

import { say } from "../core/words.js";
import { alike, matches, oracleAt } from "./bound.js";
import { Strip, visible } from "./strip.js";
import { begin } from "./sample-state.js";

const LONGEST_ORACLE = 32;

export class Reading {
  /** `charts`: the pictures of the text that is read. */
  constructor(place, charts, runs, word) {
    this.place = place;
    this.charts = charts;
    this.runs = runs;
    this.strip = new Strip({ text: place.querySelector("#strip"), detail: place.querySelector("#detail"), word,
      onRound: (number, isHeld) => this.#choose(number, isHeld) });
    this.other = new Strip({ text: place.querySelector("#side"), detail: document.createElement("div"), word });
    this.fixed = { runs, word: (token) => visible(word(token)), onRound: (number) => this.strip.choose(number) };
    this.beside = place.querySelector("#beside");
    this.beside.addEventListener("change", () => this.last && this.#side());
    this.last = null;
  }

  /** Another sample: nothing of the old one stays. */
  clear(prompt) {
    for (const strip of [this.strip, this.other]) strip.clear(prompt);
  }

  /** `shown`: whose text; `found`, `whole`: run → state, now and as far as all is known. */
  draw(shown, found, whole, isReplay) {
    const run = this.runs.find((run) => run.number === shown);
    const state = found.get(shown) ?? begin(), all = whole.get(shown) ?? state;
    this.last = { run, found, whole, state, all, oracle: this.#oracle(all, whole) };
    this.place.className = `reading s-${run.strategy}`;
    say(this.place.querySelector("#text-of"), `as ${run.name} wrote it`);
    this.strip.text.classList.toggle("still", isReplay || state.reason !== null); // motion only for what arrives now
    this.strip.draw(state);
    this.#side();
    if (!state.rounds.length) this.chosen = undefined;
    this.#show(state.rounds.length > 0);
  }

  #choose(number, isHeld) {
    this.chosen = number;
    if (isHeld) this.#show(false);
  }

  #show(mayWait) {
    this.charts.draw({ ...this.fixed, ...this.last, chosen: this.chosen }, mayWait);
  }

  /** Another strategy's text beside the chosen one, and from where on it is another. */
  #side() {
    const { run, found, state } = this.last;
    for (const option of this.beside.options) option.disabled = Number(option.value) === run.number;
    const other = this.runs.find(({ number }) => number === Number(this.beside.value));
    const theirs = other && other !== run ? found.get(other.number) ?? begin() : null, { text } = this.other;
    text.hidden = !theirs;
    say(this.place.querySelector("#differs"), theirs ? compared(state.tokens, theirs.tokens) : "");
    if (!theirs) return;
    text.className = `strip still s-${other.strategy}`;
    this.other.draw(theirs);
  }

  /** Worked out anew only when more is known; states are never changed, so the same ones give the same. */
  #oracle(all, whole) {
    const states = [...whole.values()];
    if (this.known?.length === states.length && states.every((state, i) => state === this.known[i]) && this.of === all) return this.bound;
    [this.known, this.of] = [states, all];
    const said = matches(alike(all, states), all.tokens.length);
    this.bound = (round) => oracleAt(said, round.start, LONGEST_ORACLE);
    return this.bound;
  }
}

/** Whether two texts are the same as far as both have come. Servers that send no tokens are left to the audit. */
function compared(mine, theirs) {
  if ([...mine, ...theirs].some(({ id }) => typeof id === "string")) return "";
  const differs = mine.findIndex(({ id }, i) => i < theirs.length && id !== theirs[i].id);
  return differs < 0 ? "The words are the same." : `The words differ from token ${differs + 1} on.`;
}
