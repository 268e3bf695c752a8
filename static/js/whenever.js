// Now, or when enough time has gone by since the last time: for what is too dear to be done at every frame.

export class Whenever {
  constructor(ms) {
    this.ms = ms;
    this.last = -Infinity;
    this.later = 0;
  }

  /** Where it may wait, only the latest of several calls is made. */
  call(mayWait, act) {
    clearTimeout(this.later);
    const wait = mayWait ? this.last + this.ms - performance.now() : 0;
    if (wait > 0) this.later = setTimeout(() => this.call(false, act), wait);
    else {
      this.last = performance.now();
      act();
    }
  }
}
