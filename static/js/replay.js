// A recorded heat played again: all strategies start together, each on its own recorded clock. Pure; who calls keeps time.

import { begin, fold, timeOf } from "./trace.js";

export class Recording {
  constructor(events) {
    this.events = events;
    const started = events.find((event) => event.event === "started");
    this.zero = started ? started.prefill_ns : 0; // reading the prompt is no part of the race
    this.lengthNs = events.length ? Math.max(0, timeOf(events.at(-1)) - this.zero) : 0;
    this.#rewind();
  }

  /** The state after `ns` of decoding. Cheap while time moves on; going back starts over. */
  at(ns) {
    if (ns < this.reached) this.#rewind();
    this.reached = ns;
    while (this.next < this.events.length && timeOf(this.events[this.next]) - this.zero <= ns) {
      this.state = fold(this.state, this.events[this.next++]);
    }
    return this.state;
  }

  #rewind() {
    this.state = begin();
    this.next = 0;
    this.reached = 0;
  }
}
