// The state of a comparison, from frames in whatever order and however often they come. No page, no clock.

import { Requests } from "./requests.js";
import { Results } from "./results.js";
import { begin, foldAll } from "./sample-state.js";

/** Samples of the same prompt and repeat, one for each strategy, race against each other. */
export const heatOf = (row) => `${row.repeat}.${row.prompt}`;

/** Events that are kept, of whole traces; those of older heats are asked for again when somebody looks back. An hour of
 * watching may bring millions. */
export const MOST_EVENTS = 4_000;

export class ComparisonState {
  constructor({ rows = [], status = {}, is_loaded: isLoaded = false } = {}, baselineOf = () => null, most = MOST_EVENTS) {
    this.most = most;
    this.count = 0; // of the events kept
    this.lookedAt = null; // the heat whose traces are not let go
    this.status = status;
    this.heatBy = new Map(); // sample → its heat; of rows nothing else is kept, since in an hour they come by the ten thousand
    this.isFinished = new Set(); // samples that are summed up
    this.results = new Results(baselineOf); // of each run and prompt
    this.states = new Map(); // sample → the state its events add up to
    this.events = new Map(); // sample → its events, for replay
    this.isComplete = new Set(); // samples whose trace is here to its end
    this.words = new Map(); // token → text
    this.heats = new Map(); // heat → run number → sample
    this.latest = null; // the heat that began last
    this.latestRun = null; // and the run in which it did
    this.requests = isLoaded ? new Requests() : null; // of each run, when each came and went
    this.#rows(rows);
  }

  hear(frame) {
    if (frame.t === "comparison") this.status = frame;
    else if (frame.t === "samples") this.#rows(frame.rows);
    else if (frame.t === "events") this.#events(frame);
    else if (frame.t === "complete") this.isComplete.add(frame.sample);
  }

  /** The samples of one heat, by run number. */
  samples(heat) {
    return this.heats.get(heat) ?? new Map();
  }

  state(sample) {
    return this.states.get(sample) ?? begin();
  }

  /** Which of a heat's traces are not here yet: what to ask for when somebody looks at it. */
  missing(heat) {
    const samples = [...this.samples(heat).values()];
    return Object.fromEntries(samples.filter((id) => !this.isComplete.has(id)).map((id) => [id, this.state(id).seq]));
  }

  word(token) {
    if (typeof token === "string") return token; // a server sent text alone
    return this.words.get(token) ?? `⟨${token}⟩`;
  }

  #rows(rows) {
    for (const row of rows) {
      const heat = heatOf(row);
      if (!this.heats.has(heat)) this.heats.set(heat, new Map());
      const before = this.heats.get(heat).get(row.run);
      if (before && before !== row.id) this.#forget(before, row); // another attempt began it anew
      if (!this.heatBy.has(row.id)) {
        this.latest = heat;
        this.latestRun = row.run;
        this.heatBy.set(row.id, heat);
      }
      this.heats.get(heat).set(row.run, row.id);
      this.requests?.note(row);
      if (!row.is_finished || this.isFinished.has(row.id)) continue; // what is finished stays so
      this.isFinished.add(row.id);
      this.results.note(row);
    }
  }

  #events(frame) {
    for (const [token, text] of Object.entries(frame.words ?? {})) this.words.set(Number(token), text);
    const before = this.state(frame.sample);
    const state = foldAll(frame.events, before);
    if (state === before) return;
    if (!this.events.has(frame.sample)) this.events.set(frame.sample, []);
    const fresh = frame.events.filter((event) => event.seq > before.seq);
    this.events.get(frame.sample).push(...fresh);
    this.states.set(frame.sample, state);
    this.count += fresh.length;
    if (this.count > this.most) this.#letGo();
  }

  /** The oldest traces, of those that are whole: what still grows is told from where it stands. */
  #letGo() {
    for (const sample of [...this.events.keys()]) {
      if (this.count <= this.most) return;
      const heat = this.heatBy.get(sample);
      if (heat && heat !== this.lookedAt && heat !== this.latest && this.isComplete.has(sample)) this.#forgetTrace(sample);
    }
  }

  #forget(sample, { run, prompt, repeat }) {
    this.heatBy.delete(sample);
    if (this.isFinished.delete(sample)) this.results.note({ run, prompt, repeat });
    this.#forgetTrace(sample);
  }

  #forgetTrace(sample) {
    this.count -= this.events.get(sample)?.length ?? 0;
    for (const known of [this.states, this.events, this.isComplete]) known.delete(sample);
  }
}
