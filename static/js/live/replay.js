// A recorded heat played again: all strategies start together, each on its own recorded clock. Pure; who calls keeps time.

import { begin, foldAll, timeOf } from "./trace.js";

const STEP = 32; // events between two states that are kept: going back folds no more than these again

export class Recording {
  constructor(events) {
    this.events = events;
    const started = events.find((event) => event.event === "started");
    this.zero = started ? started.prefill_ns : 0; // reading the prompt is no part of the race
    this.times = []; // when each event was over; what is told late counts from when it is told
    for (const event of events) this.times.push(Math.max(timeOf(event) - this.zero, this.times.at(-1) ?? -Infinity));
    this.lengthNs = Math.max(0, this.times.at(-1) ?? 0);
    this.kept = [begin()]; // entry n: the state after n * STEP events
    this.next = 0; // how many events `state` has folded
    this.state = this.kept[0];
  }

  /** The state after `ns` of decoding. Cheap wherever one comes from. */
  at(ns) {
    const wanted = this.#count(ns);
    if (wanted < this.next || wanted - this.next > STEP) this.#jump(wanted);
    while (this.next < wanted) this.#step(Math.min(wanted, this.next - (this.next % STEP) + STEP));
    return this.state;
  }

  /** No further than to the next state that is kept. */
  #step(to) {
    this.state = foldAll(this.events.slice(this.next, to), this.state);
    this.next = to;
    if (to % STEP === 0) this.kept[to / STEP] = this.state;
  }

  /** To the nearest state kept before, unless the one at hand is nearer. */
  #jump(wanted) {
    const nearest = Math.min(Math.floor(wanted / STEP), this.kept.length - 1);
    if (wanted >= this.next && nearest * STEP <= this.next) return;
    this.next = nearest * STEP;
    this.state = this.kept[nearest];
  }

  /** How many events were over by then. */
  #count(ns) {
    let low = 0, high = this.events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] <= ns) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
