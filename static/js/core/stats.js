// What numbers come to: their middle, their reach, the steps of an axis.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

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

/** Round numbers that cover 0..most in about `count` steps. */
export function ticks(most, count) {
  if (!(most > 0)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}
