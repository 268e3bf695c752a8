// What each strategy made of each prompt: how much of its drafts was accepted, and whether its text is the target's. Speed-ups
// are in pairs.js. Pure.

const WORST = ["divergent", "tie", "not_compared", "identical"];
const sum = (values = []) => values.reduce((total, value) => total + value, 0);

export class Results {
  constructor() {
    this.byRun = new Map(); // run → prompt → repeat → { drafted, accepted, audit }
  }

  /** A finished sample; `row.is_finished` is false where another attempt begins it anew. */
  note({ run, prompt, repeat, is_finished: isFinished, drafts_by_position: drafts, accepted_by_position: accepted, audit }) {
    if (!this.byRun.has(run)) this.byRun.set(run, new Map());
    const its = this.byRun.get(run);
    if (!its.has(prompt)) its.set(prompt, []);
    its.get(prompt)[repeat] = isFinished ? { drafted: sum(drafts), accepted: sum(accepted), audit } : undefined;
  }

  /** Over all repeats: the accepted share, null without drafts, and the worst finding of the audit. */
  of(run, prompt) {
    const found = this.byRun.get(run)?.get(prompt)?.filter(Boolean) ?? [];
    const drafted = sum(found.map((one) => one.drafted));
    return {
      count: found.length,
      accepted: drafted ? sum(found.map((one) => one.accepted)) / drafted : null,
      audit: WORST.find((outcome) => found.some((one) => one.audit === outcome)) ?? null,
    };
  }

  /** Every prompt of which some sample is finished. */
  get prompts() {
    return [...new Set([...this.byRun.values()].flatMap((its) => [...its.keys()]))].sort((a, b) => a - b);
  }
}
