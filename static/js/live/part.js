// A part of the page that is the server's words: fetched anew when there is more to say.

const SETTLED_MS = 300; // what changes comes in bursts
const AGAIN_MS = 3000; // where the network is away, or the server begins anew

export class Part {
  /** `show` is called with the part's HTML. */
  constructor(name, show) {
    this.name = name;
    this.show = show;
    this.due = 0;
    this.asked = 0;
    this.shown = 0; // the number of the asking whose answer stands there
  }

  /** Soon, however often it is said meanwhile: if each word of it waited anew, a stream of them would put it off for ever. */
  renew(wait = SETTLED_MS) {
    this.due ||= setTimeout(() => this.#fetch(++this.asked), wait);
  }

  async #fetch(number) {
    this.due = 0;
    try {
      const query = new URLSearchParams(location.search); // the page's own: what it is relative to stands in it
      query.set("part", this.name);
      const answer = await fetch(`?${query}`, { headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (answer.ok && number > this.shown) { // one that was overtaken knows less
        this.shown = number;
        this.show(text);
      } else if (answer.status >= 500) this.renew(AGAIN_MS);
    } catch {
      this.renew(AGAIN_MS);
    }
  }
}
