// Speed-ups per prompt, by the definition that the report carries: paired with autoregressive on the same prompt and
// repeat, the median over repeats. Intervals are the server's business.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** run → [{prompt, ratio}], over prompts that both it and the baseline have finished. */
export function pairedSpeedups(rows, baseline) {
  const finished = rows.filter((row) => row.is_finished && row.tokens_per_s);
  const key = (row) => row.repeat * MOST_PROMPTS + row.prompt; // not text: after an hour there are ten thousand rows, once a second
  const base = new Map();
  for (const row of finished) if (row.run === baseline) base.set(key(row), row.tokens_per_s);
  const ratios = new Map();
  for (const row of finished) {
    if (row.run === baseline || !base.has(key(row))) continue;
    if (!ratios.has(row.run)) ratios.set(row.run, new Map());
    const prompts = ratios.get(row.run);
    if (!prompts.has(row.prompt)) prompts.set(row.prompt, []);
    prompts.get(row.prompt).push(row.tokens_per_s / base.get(key(row)));
  }
  return new Map(
    [...ratios].map(([run, prompts]) => [run, [...prompts].map(([prompt, all]) => ({ prompt, ratio: median(all) }))]),
  );
}

const MOST_PROMPTS = 1e6;

/** Of drafts that came so far as each position, the share accepted there; positions too seldom reached to say are left out. */
export const acceptanceOf = ({ drafts, accepted }) =>
  drafts.filter((count) => count >= FEWEST_DRAFTS).map((count, i) => (accepted[i] ?? 0) / count);

const FEWEST_DRAFTS = 10;

/** How far an axis goes: to the last value, but not after a few that lie far beyond all others, which would squeeze them. */
export function reach(values) {
  const sorted = [...values].sort((a, b) => a - b), last = sorted.at(-1) ?? 0;
  const usual = sorted[Math.floor(USUAL * (sorted.length - 1))] ?? 0;
  return sorted.length >= ENOUGH && last > FAR * usual ? usual * BEYOND : last;
}

const USUAL = 0.97, ENOUGH = 20, FAR = 1.5, BEYOND = 1.1;

/** A whole number with thin spaces between thousands, from five digits on. */
export const grouped = (number) => (number < 1e4 ? String(number) : String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** Round numbers that cover 0..most in about `count` steps. */
export function ticks(most, count) {
  if (!(most > 0)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}
