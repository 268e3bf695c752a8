// What the page knows of a comparison, from frames in whatever order and however often they come. No page, no clock.

import { begin, fold } from "./trace.js";

/** Samples of the same prompt and repeat, one for each strategy, race against each other. */
export const heatOf = (row) => `${row.repeat}.${row.prompt}`;

export class Watching {
  constructor({ rows = [], status = {}, report = null } = {}) {
    this.status = status;
    this.report = report;
    this.rows = new Map(); // sample → its row
    this.traces = new Map(); // sample → the state its events add up to
    this.events = new Map(); // sample → its events, for replay
    this.isComplete = new Set(); // samples whose trace is here to its end
    this.words = new Map(); // token → text
    this.heats = new Map(); // heat → run number → sample
    this.latest = null; // the heat that began last
    this.#rows(rows);
  }

  hear(frame) {
    if (frame.t === "comparison") this.status = frame;
    else if (frame.t === "samples") this.#rows(frame.rows);
    else if (frame.t === "events") this.#events(frame);
    else if (frame.t === "complete") this.isComplete.add(frame.sample);
    else if (frame.t === "report") this.report = frame;
  }

  /** The samples of one heat, by run number. */
  samples(heat) {
    return this.heats.get(heat) ?? new Map();
  }

  trace(sample) {
    return this.traces.get(sample) ?? begin();
  }

  /** Which of a heat's traces are not here yet: what to ask for when somebody looks at it. */
  missing(heat) {
    const samples = [...this.samples(heat).values()];
    return Object.fromEntries(samples.filter((id) => !this.isComplete.has(id)).map((id) => [id, this.trace(id).seq]));
  }

  word(token) {
    return this.words.get(token) ?? `⟨${token}⟩`;
  }

  #rows(rows) {
    for (const row of rows) {
      const heat = heatOf(row);
      if (!this.heats.has(heat)) this.heats.set(heat, new Map());
      const before = this.heats.get(heat).get(row.run);
      if (before && before !== row.id) this.#forget(before); // another attempt began it anew
      if (!this.rows.has(row.id)) this.latest = heat;
      this.heats.get(heat).set(row.run, row.id);
      this.rows.set(row.id, row);
    }
  }

  #events(frame) {
    for (const [token, text] of Object.entries(frame.words ?? {})) this.words.set(Number(token), text);
    let state = this.trace(frame.sample);
    const kept = this.events.get(frame.sample) ?? [];
    for (const event of frame.events) {
      const next = fold(state, event);
      if (next !== state) kept.push(event);
      state = next;
    }
    this.traces.set(frame.sample, state);
    this.events.set(frame.sample, kept);
  }

  #forget(sample) {
    for (const known of [this.rows, this.traces, this.events]) known.delete(sample);
    this.isComplete.delete(sample);
  }
}
