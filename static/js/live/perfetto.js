// The rounds of a prompt as a Chrome JSON trace, which Perfetto opens: a process for each strategy, with a thread for its
// target and one for its draft. Pure.

const TARGET = 1, DRAFT = 2;
const us = (ns) => ns / 1000;

/** `runs`: `{number, name}`; `states`: run → what its events add up to. */
export function chromeTrace(runs, states) {
  const begun = runs.filter(({ number }) => states.get(number)?.rounds.length);
  return { displayTimeUnit: "ms", traceEvents: begun.flatMap((run) => [...named(run), ...spans(run.number, states.get(run.number))]) };
}

const named = ({ number: pid, name }) => [
  { ph: "M", pid, name: "process_name", args: { name } },
  { ph: "M", pid, name: "process_sort_index", args: { sort_index: pid } },
  { ph: "M", pid, tid: TARGET, name: "thread_name", args: { name: "target" } },
  { ph: "M", pid, tid: DRAFT, name: "thread_name", args: { name: "draft" } },
];

function spans(pid, { rounds, prefillNs }) {
  const span = (tid, name, from, to, args) => ({ ph: "X", pid, tid, name, cat: "decoding", ts: us(from), dur: us(to - from), args });
  const found = prefillNs ? [span(TARGET, "read the prompt", 0, prefillNs, {})] : [];
  for (const { number: round, ...one } of rounds) {
    const { drafted, accepted, outcome, source, wait } = one;
    if (drafted.length) found.push(span(DRAFT, "draft", one.draftStart, one.draftEnd, { round, drafted: drafted.length, source }));
    if (one.anticipateEnd) found.push(span(DRAFT, "prepare ahead", one.anticipateStart, one.anticipateEnd, { round, branches: one.branches.length }));
    found.push(span(TARGET, "verify", one.verifyStart, one.verifyEnd, { round, accepted, outcome, waited_us: us(wait) }));
  }
  return found.sort((a, b) => a.ts - b.ts);
}
