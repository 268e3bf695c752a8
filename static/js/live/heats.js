// The heats of a comparison: which there are, what each is called, and how what is looked at stands in an address. Pure.

export class Heats {
  constructor({ prompts, repeats, runs }) {
    this.prompts = new Map(prompts.map((prompt) => [prompt.number, prompt]));
    this.repeats = repeats;
    this.runs = runs;
    this.all = prompts.flatMap((prompt) => Array.from({ length: repeats }, (_, i) => `${i + 1}.${prompt.number}`))
      .sort((a, b) => parseInt(a) - parseInt(b));
  }

  /** The heat so many steps from another; undefined beyond the ends. */
  beside(heat, step) {
    return this.all[this.all.indexOf(heat) + step];
  }

  promptOf(heat) {
    return this.prompts.get(Number(heat.split(".")[1]));
  }

  nameOf(heat) {
    const [repeat, number] = heat.split(".").map(Number);
    const which = `Prompt ${[...this.prompts.keys()].indexOf(number) + 1} of ${this.prompts.size}`;
    const place = this.repeats > 1 ? `${which}, repeat ${repeat} of ${this.repeats}` : which;
    const { turn, category } = this.promptOf(heat) ?? {};
    return [place, turn > 1 && `turn ${turn}`, category].filter(Boolean).join(" · ");
  }

  /** What somebody looked at, from the part of an address after `#`; undefined where it names nothing that there is. */
  read(hash) {
    const asked = new URLSearchParams(hash.slice(1));
    return {
      heat: this.all.find((heat) => heat === `${asked.get("repeat") ?? 1}.${asked.get("prompt")}`),
      run: this.runs.find((run) => run.label === asked.get("strategy"))?.number,
      whatIf: asked.get("what-if"),
    };
  }

  /** The same, written. Without a heat it is whichever comes next. */
  written({ heat, run, whatIf }) {
    const [repeat, prompt] = heat?.split(".") ?? [];
    const where = { strategy: this.runs.find(({ number }) => number === run).label };
    if (heat) Object.assign(where, this.repeats > 1 ? { prompt, repeat } : { prompt });
    if (whatIf) where["what-if"] = whatIf;
    return `#${new URLSearchParams(where)}`;
  }
}
