// The text itself, token by token, and under the reader's eye one round of it: what was drafted, how sure the draft was,
// what the target wanted.

import { become, sketch } from "../core/become.js";
import { facts } from "./facts.js";
import { Whenever } from "../core/whenever.js";
import { partsOf } from "./sample-state.js";

const TELL_EVERY_MS = 500; // nobody reads what changes faster
const PROMPT_LINES = 3; // of the prompt, only what the text continues

const FATES = {
  accepted: "accepted", correction: "corrected by the target", bonus: "bonus of the target", own: "the target's own",
};

export class Strip {
  constructor({ text, detail, word, onRound }) {
    this.text = text;
    this.detail = detail;
    this.word = word;
    this.onRound = onRound ?? (() => {});
    this.drawn = []; // per round: what was drawn of it, and how
    this.elements = text.getElementsByClassName("round");
    this.state = null;
    this.chosen = null; // the number of the round that somebody chose
    this.told = null; // the round whose detail stands there
    this.prompt = null;
    this.tell = new Whenever(TELL_EVERY_MS);
    this.isAtEnd = true; // until somebody scrolls back to read
    this.text.addEventListener("scroll", () => {
      this.isAtEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 8;
    }, { passive: true });
    for (const [type, act] of [["pointerover", this.#point], ["focusin", this.#point], ["keydown", this.#key]]) {
      this.text.addEventListener(type, act.bind(this));
    }
  }

  /** Another sample: of the old one stays nothing but elements, which become the new one's when it is drawn. */
  clear(prompt) {
    const lines = prompt.split("\n");
    this.prompt = sketch("span", { class: "before" }, (lines.length > PROMPT_LINES ? "…\n" : "") + lines.slice(-PROMPT_LINES).join("\n"));
    this.drawn = [];
    this.state = null;
    this.chosen = null;
    this.tell.call(false, () => {
      this.told = null;
      become(this.detail);
    });
  }

  draw(state) {
    if (state === this.state) return;
    this.state = state;
    const tokensOf = (round) => state.tokens.slice(round.start, round.start + round.accepted + 1);
    const isSame = (drawn, round) => drawn.round === round && drawn.kept === tokensOf(round).length;
    let same = 0;
    const parts = partsOf(state);
    while (same < this.drawn.length && same < parts.length && isSame(this.drawn[same], parts[same])) same++;
    this.drawn.splice(same);
    for (const round of parts.slice(same)) {
      const tokens = tokensOf(round);
      this.drawn.push({ round, kept: tokens.length, sketch: this.#round(round, tokens) });
    }
    become(this.text, ...this.#passages());
    if (this.isAtEnd && this.drawn.length > same) this.#toEnd();
    if (this.drawn.length && !this.text.querySelector('[tabindex="0"]')) this.elements[0].tabIndex = 0;
    this.choose(this.drawn.some(({ round }) => round.number === this.chosen) ? this.chosen : parts.at(-1)?.number, false);
  }

  /** Lines that are whole stand in a block of their own, so that they are not laid out again with each round that comes:
   * a block ends with a round that ends a line, and one that has no such end goes on. */
  #passages() {
    const passages = [[this.prompt]];
    for (const [i, { sketch: round }] of this.drawn.entries()) {
      if (i && endsLine(this.drawn[i - 1].sketch)) passages.push([]);
      passages.at(-1).push(round);
    }
    return passages.map((rounds) => sketch("div", { class: "passage" }, ...rounds));
  }

  /** When the next frame begins the page is laid out anyway; asked for now, it would be laid out for this alone. */
  #toEnd() {
    requestAnimationFrame(() => {
      this.text.scrollTop = this.text.scrollHeight;
    });
  }

  /** Open the detail of a round. Unless somebody chose one, it is the newest. */
  choose(number, isHeld = true) {
    if (number === undefined) return;
    if (isHeld) this.chosen = number;
    const at = this.drawn.findIndex(({ round }) => round.number === number);
    if (at < 0) return;
    const { round } = this.drawn[at];
    this.text.querySelector(".round.open")?.classList.remove("open");
    this.elements[at].classList.add("open");
    this.tell.call(!isHeld, () => this.#tell(round));
    this.onRound(number, isHeld);
  }

  #tell(round) {
    if (round === this.told) return;
    this.told = round;
    become(this.detail, ...this.#detail(round));
  }

  #round(round, tokens) {
    return sketch("span", { class: "round", tabindex: -1, role: "button", "data-round": round.number, "aria-label": this.#sentence(round) },
      ...tokens.flatMap((token) => pieces(this.word(token.id), token.fate)));
  }

  #sentence(round) {
    if (round.outcome === "delivered") return deliveryOf(round);
    if (!round.drafted.length) return `Round ${round.number}: the target wrote ${visible(this.word(round.token))}.`;
    const own = round.outcome === "bonus" ? "added" : "corrected to";
    return `Round ${round.number}: ${round.accepted} of ${round.drafted.length} drafted tokens accepted, the target ${own} ${visible(this.word(round.token))}.`;
  }

  #detail(round) {
    if (round.outcome === "delivered") return [sketch("p", {}, deliveryOf(round))];
    const cells = round.drafted.map((id, i) => {
      const fate = i < round.accepted ? "accepted" : i === round.accepted ? "refused" : "unseen";
      return sketch("li", { class: fate },
        sketch("span", { class: "piece" }, visible(this.word(id))),
        round.confidence.length ? gauge(round.confidence[i], "draft") : null,
        round.estimate.length ? gauge(round.estimate[i], "estimate") : null,
        sketch("span", { class: "fate" }, { accepted: "✓ kept", refused: "✕ refused", unseen: "– not judged" }[fate]));
    });
    const own = sketch("li", { class: round.drafted.length ? round.outcome : "own" },
      sketch("span", { class: "piece" }, visible(this.word(round.token))),
      sketch("span", { class: "fate" }, round.drafted.length ? (round.outcome === "bonus" ? "● bonus" : "▲ target's word") : "the target's own"));
    return [sketch("p", {}, facts(round)), sketch("ol", {}, ...cells, own)];
  }

  #point(event) {
    const element = event.target.closest?.(".round");
    if (element) this.choose(Number(element.dataset.round));
  }

  #key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const at = [...this.elements].indexOf(document.activeElement);
    const to = this.elements[Math.min(this.elements.length - 1, Math.max(0, at + steps[event.key]))];
    for (const element of this.elements) element.tabIndex = -1;
    if (!to) return;
    to.tabIndex = 0;
    to.focus();
  }
}

const deliveryOf = ({ number, accepted }) => `Delivery ${number}: ${accepted + 1} ${accepted ? "tokens" : "token"} at once. The server tells no rounds.`;

const endsLine = (round) => round.children.at(-1)?.name === "br";

function gauge(value, what) {
  const percent = `${Math.round(100 * value)} %`;
  return sketch("span", { class: `gauge ${what}` }, sketch("meter", { min: 0, max: 1, value: value.toFixed(3), "aria-label": what }), percent);
}

/** White space is text too: shown by signs where a token is looked at alone. */
export const visible = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "·") || "∅";

/** In the running text a line break is shown and also breaks; the mark of a fate stands in the first of its lines. */
function pieces(text, fate) {
  const lines = text.split("\n");
  return lines.flatMap((line, i) => {
    const sign = i < lines.length - 1 ? sketch("span", { class: "break" }, "⏎") : null;
    if (!line && !sign) return [];
    const shown = i && fate !== "accepted" ? "rest" : fate;
    return [sketch("span", { class: `token ${shown}`, title: FATES[fate] }, line, sign), ...(sign ? [sketch("br")] : [])];
  });
}
