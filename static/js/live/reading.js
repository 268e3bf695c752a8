// The text that is read, and every picture of its rounds: whichever round is chosen in one is chosen in all.

import { Ahead } from "./ahead.js";
import { alike, matches, oracleAt } from "./bound.js";
import { Duet } from "./duet.js";
import { Lines } from "./lines.js";
import { say } from "./race.js";
import { Rounds } from "./rounds.js";
import { Side } from "./side.js";
import { Strip, visible } from "./strip.js";
import { ofLines, ofRounds } from "./summaries.js";
import { describe } from "../core/svg.js";
import { begin, decodeNs } from "./trace.js";
import { Whenever } from "../core/whenever.js";
import { isOpen, overTime, roundByRound } from "./twins.js";

const LINES_EVERY_MS = 200; // the one picture on a canvas is dear; five times a second is enough of it
const CHOSEN_EVERY_MS = 500; // nobody reads what changes faster, unless they chose the round
const LONGEST_ORACLE = 32;

export class Reading {
  constructor(place, runs, word) {
    this.place = place;
    this.runs = runs;
    const choose = (number) => this.strip.choose(number);
    this.rounds = new Rounds(place.querySelector("#rounds"), choose);
    this.duet = new Duet(place.querySelector("#duet"), choose);
    this.ahead = new Ahead(place.querySelector("#ahead"), (token) => visible(word(token)));
    this.lines = new Lines(place.querySelector("#lines"), runs);
    this.strip = new Strip({ text: place.querySelector("#strip"), detail: place.querySelector("#detail"), word, onRound: (number, isHeld) => this.#chosen(number, isHeld) });
    this.beside = place.querySelector("#beside");
    this.side = new Side(place.querySelector("#side"), word);
    this.beside.addEventListener("change", () => this.last && this.#side());
    addEventListener("resize", () => this.last && this.#side());
    this.drawLines = new Whenever(LINES_EVERY_MS);
    this.drawChosen = new Whenever(CHOSEN_EVERY_MS);
    this.last = null;
    for (const twin of place.querySelectorAll(".twin")) twin.addEventListener("toggle", () => this.last && this.#twins());
  }

  /** Another sample: nothing of the old one stays. */
  clear(prompt) {
    this.strip.clear(prompt);
  }

  /** `shown`: whose text; `found`, `whole`: run → state, now and as far as all is known. */
  draw(shown, found, whole, isReplay) {
    const run = this.runs.find((run) => run.number === shown);
    const state = found.get(shown) ?? begin(), all = whole.get(shown) ?? state;
    this.last = { shown, found, state, all, oracle: this.#oracle(all, whole) };
    this.place.className = `reading s-${run.strategy}`;
    say(this.place.querySelector("#text-of"), `as ${run.name} wrote it`);
    this.strip.text.classList.toggle("still", isReplay || state.reason !== null); // motion only for what arrives now
    const isSame = state === this.strip.state; // then only the room to draw in may be another
    this.strip.draw(state);
    this.rounds.draw(state, all, this.last.oracle);
    this.#side();
    if (isSame || !state.rounds.length) this.#chosen(state.rounds.length ? this.rounds.open : undefined, !state.rounds.length);
    this.drawLines.call(true, () => this.lines.draw(found, shown));
    if (!isReplay) this.#describe(run.name, state, found);
    this.#twins();
  }

  #describe(name, state, found) {
    if (!state.rounds.length) return;
    describe(this.place.querySelector("#rounds"), ofRounds(name, state.rounds));
    describe(this.place.querySelector("#lines"), ofLines(this.runs.filter((run) => found.get(run.number)?.rounds.length)
      .map((run) => ({ name: run.name, tokens: found.get(run.number).tokens.length, ms: decodeNs(found.get(run.number)) / 1e6 }))));
  }

  #chosen(number, isHeld) {
    this.rounds.choose(number);
    this.drawChosen.call(!isHeld, () => {
      const state = this.strip.state ?? begin();
      this.duet.draw(state, number);
      this.ahead.draw(state.rounds.find((round) => round.number === number));
    });
  }

  /** The chosen text, and under it letter for letter another strategy's. */
  #side() {
    const { shown, found, state } = this.last;
    const of = (number) => this.runs.find((run) => run.number === number);
    for (const option of this.beside.options) option.disabled = Number(option.value) === shown;
    const other = Number(this.beside.value);
    const pair = other && other !== shown ? [{ run: of(shown), state }, { run: of(other), state: found.get(other) ?? begin() }] : null;
    this.side.draw(pair);
    this.strip.text.hidden = pair !== null;
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

  /** Tables are made for those who open them. */
  #twins() {
    const { state, found, oracle } = this.last;
    if (isOpen("rounds")) roundByRound(state, oracle);
    if (isOpen("lines")) overTime(this.runs, found);
  }
}
