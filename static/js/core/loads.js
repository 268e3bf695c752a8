// Rows of a report along an axis of loads: users at once, or requests per second. Pure.

export const AXES = { concurrency: "users at once", rate: "requests per second" };

/** The load of a row, as the sentences of the report write it. */
export function loadName({ concurrency, rate, recorded }) {
  if (rate) return `${rate} requests/s${recorded ? " as recorded" : ""}`;
  return concurrency === 1 ? "1 at a time" : `${concurrency} at once`;
}

/** The axes along which these rows have loads. */
export const kindsOf = (rows) => Object.keys(AXES).filter((kind) => rows.some((row) => row[kind]));

/** A series for each strategy along an axis: its rows with samples, lightest load first. */
export function seriesOf(rows, kind) {
  const found = new Map();
  for (const row of rows) {
    if (!row[kind] || !row.sample_count) continue;
    if (!found.has(row.settings)) found.set(row.settings, { strategy: row.strategy, dash: row.dash, name: row.settings, role: row.role, rows: [] });
    found.get(row.settings).rows.push(row);
  }
  for (const series of found.values()) series.rows.sort((a, b) => a[kind] - b[kind]);
  return [...found.values()];
}

/** An axis on which doubling the load is one step. Values go through `at`. */
export function loadAxis(rows, kind) {
  const values = [...new Set(rows.map((row) => row[kind]).filter(Boolean))].sort((a, b) => a - b);
  const marks = values.map(at), apart = 0.15 * (marks.at(-1) - marks[0] || 1);
  return { low: marks[0] - apart, high: marks.at(-1) + apart, at: marks, link: kind, label: AXES[kind], format: (mark) => String(values[marks.indexOf(mark)]) };
}

export const at = (load) => Math.log2(load);

/** Whether there is more than one user at a time at some load: otherwise a chart of loads says nothing. */
export const isLoaded = (rows) => rows.some((row) => row.concurrency !== 1);

/** Keys of a legend, one for each strategy. */
export const strategiesOf = (rows) => {
  const found = new Map(rows.map((row) => [row.settings, { strategy: row.strategy, dash: row.dash, name: row.settings }]));
  return [...found.values()];
};
