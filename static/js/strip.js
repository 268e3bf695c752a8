// The text itself, token by token, and under the reader's eye one round of it: what was drafted, how sure the draft was,
// what the target wanted.

import { facts } from "./facts.js";
import { html } from "./svg.js";
import { Whenever } from "./whenever.js";

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
    this.drawn = []; // per round: what was drawn of it
    this.state = null;
    this.chosen = null; // the number of the round that somebody chose
    this.told = null; // the round whose detail stands there
    this.prompt = html("span", { class: "before" });
    this.text.replaceChildren(html("div", { class: "passage" }, this.prompt));
    this.tell = new Whenever(TELL_EVERY_MS);
    this.isAtEnd = true; // until somebody scrolls back to read
    this.text.addEventListener("scroll", () => {
      this.isAtEnd = this.text.scrollTop + this.text.clientHeight >= this.text.scrollHeight - 8;
    }, { passive: true });
    for (const [type, act] of [["pointerover", this.#point], ["focusin", this.#point], ["keydown", this.#key]]) {
      this.text.addEventListener(type, act.bind(this));
    }
  }

  /** Another sample: nothing of the old one stays. */
  clear(prompt) {
    const lines = prompt.split("\n");
    this.prompt.textContent = (lines.length > PROMPT_LINES ? "…\n" : "") + lines.slice(-PROMPT_LINES).join("\n");
    this.#cut(0);
    this.state = null;
    this.chosen = null;
    this.tell.call(false, () => {
      this.told = null;
      this.detail.replaceChildren();
    });
  }

  draw(state) {
    if (state === this.state) return;
    this.state = state;
    const tokensOf = (round) => state.tokens.slice(round.start, round.start + round.accepted + 1);
    const isSame = (drawn, round) => drawn.round === round && drawn.kept === tokensOf(round).length;
    let same = 0;
    while (same < this.drawn.length && same < state.rounds.length && isSame(this.drawn[same], state.rounds[same])) same++;
    this.#cut(same);
    for (const round of state.rounds.slice(same)) {
      const tokens = tokensOf(round);
      const element = this.#round(round, tokens);
      this.#passage().append(element);
      this.drawn.push({ round, kept: tokens.length, element });
    }
    if (this.isAtEnd && this.drawn.length > same) this.#toEnd();
    if (this.drawn.length && !this.text.querySelector('[tabindex="0"]')) this.drawn[0].element.tabIndex = 0;
    this.choose(this.drawn.some(({ round }) => round.number === this.chosen) ? this.chosen : state.rounds.at(-1)?.number, false);
  }

  /** Where the next round goes. Lines that are whole stand in a block of their own, so that they are not laid out again
   * with each round that comes: a block ends with a round that ends a line, and one that has no such end goes on. */
  #passage() {
    const last = this.text.lastElementChild;
    if (last.lastElementChild?.lastElementChild?.nodeName !== "BR") return last;
    const fresh = html("div", { class: "passage" });
    this.text.append(fresh);
    return fresh;
  }

  /** Only the first so many rounds stay. */
  #cut(count) {
    for (const { element } of this.drawn.splice(count)) {
      const block = element.parentElement;
      element.remove();
      if (!block.firstElementChild) block.remove();
    }
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
    const shown = this.drawn.find(({ round }) => round.number === number);
    if (!shown) return;
    this.text.querySelector(".round.open")?.classList.remove("open");
    shown.element.classList.add("open");
    this.tell.call(!isHeld, () => this.#tell(shown.round));
    this.onRound(number, isHeld);
  }

  #tell(round) {
    if (round === this.told) return;
    this.told = round;
    this.detail.replaceChildren(...this.#detail(round));
  }

  #round(round, tokens) {
    const element = html("span", { class: "round", tabindex: -1, role: "button", "data-round": round.number, "aria-label": this.#sentence(round) });
    for (const token of tokens) {
      element.append(...pieces(this.word(token.id), token.fate));
    }
    return element;
  }

  #sentence(round) {
    if (!round.drafted.length) return `Round ${round.number}: the target wrote ${visible(this.word(round.token))}.`;
    const own = round.outcome === "bonus" ? "added" : "corrected to";
    return `Round ${round.number}: ${round.accepted} of ${round.drafted.length} drafted tokens accepted, the target ${own} ${visible(this.word(round.token))}.`;
  }

  #detail(round) {
    const cells = round.drafted.map((id, i) => {
      const fate = i < round.accepted ? "accepted" : i === round.accepted ? "refused" : "unseen";
      return html("li", { class: fate },
        html("span", { class: "piece" }, visible(this.word(id))),
        round.confidence.length ? gauge(round.confidence[i], "draft") : null,
        round.estimate.length ? gauge(round.estimate[i], "estimate") : null,
        html("span", { class: "fate" }, { accepted: "✓ kept", refused: "✕ refused", unseen: "– not judged" }[fate]));
    });
    const own = html("li", { class: round.drafted.length ? round.outcome : "own" },
      html("span", { class: "piece" }, visible(this.word(round.token))),
      html("span", { class: "fate" }, round.drafted.length ? (round.outcome === "bonus" ? "● bonus" : "▲ target's word") : "the target's own"));
    return [html("p", {}, facts(round)), html("ol", {}, ...cells, own)];
  }

  #point(event) {
    const element = event.target.closest?.(".round");
    if (element) this.choose(Number(element.dataset.round));
  }

  #key(event) {
    const steps = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const at = this.drawn.findIndex(({ element }) => element === document.activeElement);
    const to = this.drawn[Math.min(this.drawn.length - 1, Math.max(0, at + steps[event.key]))];
    for (const { element } of this.drawn) element.tabIndex = -1;
    if (!to) return;
    to.element.tabIndex = 0;
    to.element.focus();
  }
}

function gauge(value, what) {
  const percent = `${Math.round(100 * value)} %`;
  return html("span", { class: `gauge ${what}` }, html("meter", { min: 0, max: 1, value: value.toFixed(3), "aria-label": what }), percent);
}

/** White space is text too: shown by signs where a token is looked at alone. */
export const visible = (text) => text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "·") || "∅";

/** In the running text a line break is shown and also breaks; the mark of a fate stands where the token begins. */
function pieces(text, fate) {
  const lines = text.split("\n");
  return lines.flatMap((line, i) => {
    const sign = i < lines.length - 1 ? html("span", { class: "break" }, "⏎") : null;
    if (!line && !sign) return [];
    const shown = i && fate !== "accepted" ? "rest" : fate;
    return [html("span", { class: `token ${shown}`, title: FATES[fate] }, line, sign), ...(sign ? [html("br")] : [])];
  });
}
