// Where things lie on parallel axes, and which runs are within what is asked for. Pure: no element is touched here.

const STEPS = 40;

/** From the least to the most value, a little apart where all are alike. */
export function span(axis, runs) {
  const values = runs.map((run) => run.values[axis.name]).filter((value) => value !== null && value !== undefined);
  const low = Math.min(...values), high = Math.max(...values);
  return low === high ? { low: low - (Math.abs(low) || 1) * 0.1, high: high + (Math.abs(high) || 1) * 0.1 } : { low, high };
}

/**
 * On a wide page axes stand upright side by side; on a narrow one they lie below each other. `along` runs along an axis,
 * from its low end to its high one; `at` is where it stands. A run without a value has no place on that axis.
 */
export function layout(chart, width) {
  const isUpright = width >= 90 * chart.axes.length;
  const length = isUpright ? 240 : width - 2 * SIDE;
  const apart = isUpright ? (width - 2 * SIDE) / Math.max(1, chart.axes.length - 1) : 64;
  const axes = chart.axes.map((axis, i) => ({ ...axis, ...span(axis, chart.runs), at: i * apart }));
  const lines = chart.runs.map((run) => ({
    run,
    places: axes.map((axis) => (run.values[axis.name] ?? null) === null ? null
      : [axis.at, length * part(axis, run.values[axis.name])]),
  }));
  return { isUpright, length, axes, lines, height: isUpright ? length + TOP + 24 : TOP + apart * axes.length };
}

export const SIDE = 36, TOP = 48;

const part = (axis, value) => (value - axis.low) / (axis.high - axis.low);

/** The value at a place along an axis, kept within it. */
export function valueAt(axis, place, length) {
  const share = Math.min(1, Math.max(0, place / length));
  return axis.low + share * (axis.high - axis.low);
}

/** Is the run within every range? Where it has no value it is not. */
export function passes(run, ranges) {
  return Object.entries(ranges).every(([name, { from, to }]) => {
    const value = run.values[name] ?? null;
    return value !== null && (from === null || value >= from) && (to === null || value <= to);
  });
}

/** One end of a range after a key; null is the axis's own end, undefined means that the key is none of ours. */
export function moved(axis, end, value, key) {
  const step = (axis.high - axis.low) / STEPS;
  const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[key];
  if (key === "Home" || key === "End") return (key === "Home") === (end === "from") ? null : end === "from" ? axis.high : axis.low;
  if (steps === undefined) return undefined;
  const next = (value ?? (end === "from" ? axis.low : axis.high)) + steps * step;
  if (end === "from" ? next <= axis.low : next >= axis.high) return null;
  return rounded(Math.min(axis.high, Math.max(axis.low, next)), axis);
}

/** As many digits as the axis can tell apart: an address should be short. */
export function rounded(value, axis) {
  const digits = Math.max(0, 3 - Math.floor(Math.log10(axis.high - axis.low)));
  return Number(value.toFixed(Math.min(12, digits)));
}

/** A range with one end changed. Ends that have passed each other change places; a range without ends is none. */
export function withEnd(range, end, value) {
  const changed = { from: null, to: null, ...range, [end]: value };
  if (changed.from !== null && changed.to !== null && changed.from > changed.to) {
    return { from: changed.to, to: changed.from };
  }
  return changed.from === null && changed.to === null ? null : changed;
}

/** A number as the table writes it. */
export function written(value, kind) {
  if (value === null || value === undefined) return "–";
  if (kind === "share") return `${Math.round(100 * value)} %`;
  if (kind === "times") return `${value.toFixed(2)}×`;
  if (Math.abs(value) >= 100) return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");
  return value.toFixed(Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}
