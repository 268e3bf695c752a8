// Now, or when enough time has gone by since the last time: for what is too dear to be done at every frame.

const UNSEEN_MS = 2000; // what is not on the screen is still read aloud, printed and searched
const NEARLY = "200px"; // so near to the screen that somebody may scroll there

export class Whenever {
  /** Where it is shown is `place`: while that is not on the screen it is done seldom, and at once when it comes there. */
  constructor(ms, place = null) {
    this.ms = ms;
    this.last = -Infinity;
    this.later = 0;
    this.due = null; // what waits
    this.isSeen = true;
    if (place) new IntersectionObserver((entries) => this.#see(entries.at(-1)), { rootMargin: NEARLY }).observe(place);
  }

  /** Where it may wait, only the latest of several calls is made. */
  call(mayWait, act) {
    this.due = act;
    const wait = mayWait ? this.last + (this.isSeen ? this.ms : UNSEEN_MS) - performance.now() : 0;
    clearTimeout(this.later);
    if (wait > 0) this.later = setTimeout(() => this.now(), wait);
    else this.now();
  }

  /** What waits waits no longer. */
  now() {
    clearTimeout(this.later);
    if (!this.due) return;
    const act = this.due;
    this.due = null;
    this.last = performance.now();
    act();
  }

  /** What is hidden takes no room, and may be about to be shown. */
  #see({ isIntersecting, boundingClientRect }) {
    this.isSeen = isIntersecting || boundingClientRect.width === 0;
    if (this.isSeen) this.now();
  }
}
