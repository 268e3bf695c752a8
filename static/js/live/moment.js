// The moment of a heat that is shown: the latest, or while it is replayed, any that was. Keeps time only by what it is told.

import { begin, foldAll, timeOf } from "./sample-state.js";

/** A recorded sample played again on its own recorded clock. Pure; who calls keeps time. */
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

export class Moment {
  /** `lanes`: under load, requests begin when they are served, and the lanes know when that was. */
  constructor(known, lanes = null) {
    this.known = known;
    this.lanes = lanes;
    this.speed = 1;
    this.recordings = new Map();
    this.look(null);
  }

  /** Another heat: at its latest moment, or where the replay of another one is. */
  look(heat, at = null) {
    this.heat = heat;
    this.clock = at?.clock ?? null; // null: everything that is known; otherwise nanoseconds of replay
    this.playing = at?.playing ? { since: null, from: at.clock } : null; // when the replay was started, and from where
    this.recordings.clear();
  }

  get isReplay() {
    return this.clock !== null;
  }

  /** Every strategy's state at this moment. */
  states() {
    const samples = [...this.known.samples(this.heat)];
    return new Map(samples.map(([run, id]) => [run, this.isReplay ? this.#stateOf(run, id) : this.known.state(id)]));
  }

  /** And as far as all is known. */
  whole() {
    return new Map([...this.known.samples(this.heat)].map(([run, id]) => [run, this.known.state(id)]));
  }

  /** Whether all of these runs are here to their end, so that it can be replayed. */
  isWhole(runs) {
    if (this.lanes) return Boolean(this.known.status.is_final) && this.lanes.spanNs > 0;
    const samples = [...this.known.samples(this.heat).values()];
    return samples.length === runs.length && samples.every((id) => this.known.isComplete.has(id));
  }

  /** How many nanoseconds each run takes, as far as it is known. */
  lengths() {
    return new Map([...this.known.samples(this.heat)].map(([run, id]) => [run, this.#recording(id).lengthNs]));
  }

  get spanNs() {
    if (this.lanes) return this.lanes.spanNs;
    return Math.max(0, ...this.lengths().values());
  }

  /** From where it stands, or from the start; or stop where it is. */
  play() {
    if (!this.playing) this.clock = !this.isReplay || this.clock >= this.spanNs ? 0 : this.clock;
    this.playing = this.playing ? null : { since: null, from: this.clock };
  }

  /** A frame of the replay, at so many milliseconds of any clock. */
  tick(now) {
    this.playing.since ??= now;
    this.clock = this.playing.from + (now - this.playing.since) * 1e6 * this.speed;
    if (this.clock >= this.spanNs) this.clock = this.playing = null;
  }

  scrub(ns) {
    this.playing = null;
    this.clock = ns;
  }

  hurry(speed) {
    this.speed = speed;
    if (this.playing) this.playing = { since: null, from: this.clock };
  }

  #stateOf(run, sample) {
    const recording = this.#recording(sample);
    return recording.at(this.lanes ? this.clock - this.lanes.begunAt(run, sample) - recording.zero : this.clock);
  }

  #recording(sample) {
    const events = this.known.events.get(sample) ?? [];
    const found = this.recordings.get(sample);
    if (found && found.events.length === events.length) return found;
    this.recordings.set(sample, new Recording([...events]));
    return this.recordings.get(sample);
  }
}
