// A recorded heat played again: all strategies start together, each on its own recorded clock. Pure; who calls keeps time.

import { begin, foldAll, timeOf } from "./trace.js";

export class Recording {
  constructor(events) {
    this.events = events;
    const started = events.find((event) => event.event === "started");
    this.zero = started ? started.prefill_ns : 0; // reading the prompt is no part of the race
    this.times = []; // when each event was over; what is told late counts from when it is told
    for (const event of events) this.times.push(Math.max(timeOf(event) - this.zero, this.times.at(-1) ?? -Infinity));
    this.lengthNs = Math.max(0, this.times.at(-1) ?? 0);
    this.next = 0; // how many events `state` has folded
    this.state = begin();
  }

  /** The state after `ns` of decoding; the same one until another event is over. */
  at(ns) {
    const wanted = this.times.findLastIndex((time) => time <= ns) + 1;
    if (wanted < this.next) [this.next, this.state] = [0, begin()];
    this.state = foldAll(this.events.slice(this.next, wanted), this.state);
    this.next = wanted;
    return this.state;
  }
}
