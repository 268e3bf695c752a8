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
  }

  renew(wait = SETTLED_MS) {
    clearTimeout(this.due);
    this.due = setTimeout(() => this.#fetch(++this.asked), wait);
  }

  async #fetch(number) {
    try {
      const query = new URLSearchParams(location.search); // the page's own: what it is relative to stands in it
      query.set("part", this.name);
      const answer = await fetch(`?${query}`, { headers: { Accept: "text/html" } });
      const text = await answer.text();
      if (answer.ok && number === this.asked) this.show(text); // one that is late knows less
      else if (answer.status >= 500) this.renew(AGAIN_MS);
    } catch {
      this.renew(AGAIN_MS);
    }
  }
}
