// What a page brings packed: column by column, whole numbers as differences, as webapp/comparisons/packing.py writes them. Pure.

/** The rows of a table of several kinds, in their order. */
export function rowsOf({ kinds, tables }) {
  const rows = tables.map(rowsOfKind);
  return kinds.map((kind) => rows[kind].next().value);
}

/** The frames of a whole trace. */
export function* framesOf({ sample, last_seq, parts }) {
  for (const part of parts) yield { t: "events", sample, events: rowsOf(part), words: part.words };
  yield { t: "complete", sample, last_seq };
}

function* rowsOfKind(table) {
  const columns = Object.entries(table).map(([name, column]) => [name, valuesOf(column)]);
  for (let i = 0; ; i++) yield Object.fromEntries(columns.map(([name, values]) => [name, values[i]]));
}

function valuesOf(column) {
  let sum = 0;
  return Array.isArray(column) ? column : column.steps.map((step) => (sum += step));
}
