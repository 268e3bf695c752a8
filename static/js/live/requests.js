// The requests of each run as a load sent them: when each came, began and ended, and what that adds up to. Finished ones
// are known from their rows, running ones from their traces. Pure.

const ALONE = 24; // requests shown at once where one user asks at a time
const SOME = 256; // and at most under load

export class Requests {
  constructor() {
    this.byRun = new Map(); // run → repeat and prompt → its request, or while it runs its row, in the order in which they began
  }

  /** A sample's row; a later attempt's takes the place of an earlier one's. */
  note(row) {
    if (!this.byRun.has(row.run)) this.byRun.set(row.run, new Map());
    const its = this.byRun.get(row.run), which = `${row.repeat}.${row.prompt}`;
    if (its.has(which) && its.get(which).id !== row.id) its.delete(which); // it begins anew, as the last
    its.set(which, row.is_finished ? finished(row) : row);
  }

  /** All requests of a run. `stateOf` returns the state of a sample that is not finished. */
  of(run, stateOf) {
    return [...(this.byRun.get(run)?.values() ?? [])].map((one) => (one.isOver ? one : running(one, stateOf(one.id))));
  }
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

const finished = ({ id, prompt, repeat, span: [arrived, queued, served], new_tokens: tokens, drafts_by_position: drafts, accepted_by_position: accepted }) =>
  ({ id, prompt, repeat, arrived, queued, served, tokens, drafted: sum(drafts), accepted: sum(accepted), isOver: true });

const running = ({ id, prompt, repeat }, { arrivedNs: arrived, queuedNs: queued, nowNs: served, tokens, rounds }) =>
  ({ id, prompt, repeat, arrived, queued, served, tokens: tokens.length, isOver: false,
    drafted: sum(rounds.map((round) => round.drafted.length)), accepted: sum(rounds.map((round) => round.accepted)) });

/** Requests on one clock, each with `from`, `begun` and `to`. Each block of prompts has a clock of its own, so the next one
 * follows it; where one user asks at a time, each request is a block. */
export function onOneClock(requests, isAlone) {
  let start = 0, end = 0, last = 0, block = 0;
  return requests.map((one, i) => {
    if (i && (isAlone || one.arrived < last)) {
      start = end;
      block++;
    }
    last = one.arrived;
    const from = start + one.arrived, begun = from + one.queued, to = begun + one.served;
    end = Math.max(end, to);
    return { ...one, block: isAlone ? Math.floor(i / ALONE) : block, from, begun, to };
  });
}

/** The block that holds a sample, else the last one, each request in the first row that is free when it comes. */
export function shownBlock(placed, sample) {
  const { block } = placed.find(({ id }) => id === sample) ?? placed.at(-1) ?? {};
  const ends = [];
  return placed.filter((one) => one.block === block).slice(-SOME).map((one) => {
    let row = ends.findIndex((end) => end <= one.from);
    if (row < 0) row = ends.length;
    ends[row] = one.to;
    return { ...one, row };
  });
}

/** A block as it stood so many ns after its first arrival: what had come by then, and how far it was. */
export function asOf(shown, ns) {
  const now = firstOf(shown) + ns;
  return shown.filter((one) => one.from <= now).map((one) => ({ ...one, begun: Math.min(one.begun, now), to: Math.min(one.to, now),
    hasBegun: one.begun <= now, isOver: one.to <= now }));
}

export const firstOf = (shown) => Math.min(...shown.map((one) => one.from));

/** How long a block takes, from its first arrival to its last token. */
export const spanOf = (shown) => (shown.length ? Math.max(...shown.map((one) => one.to)) - firstOf(shown) : 0);

/** What a run had given at that moment. Speed and acceptance are those of the requests that were answered: how far the others
 * were, only their traces say. */
export function totalsAsOf(known, run) {
  const begun = known.filter((one) => one.hasBegun), over = known.filter((one) => one.isOver);
  const { speed, acceptance } = totals(over, run);
  return { speed, acceptance, running: begun.length - over.length, waitedNs: begun.length ? sum(begun.map((one) => one.queued)) / begun.length : 0 };
}

/** What a run gives so far: in a closed loop by Little's law, as in the report; in an open loop what was answered. */
export function totals(requests, { concurrency }) {
  const tokens = sum(requests.map((one) => one.tokens)), drafted = sum(requests.map((one) => one.drafted));
  const ns = sum(requests.map((one) => one.queued + one.served));
  return {
    speed: concurrency ? (ns ? (concurrency * tokens * 1e9) / ns : 0) : answered(requests.filter((one) => one.isOver)),
    running: requests.filter((one) => !one.isOver).length,
    waitedNs: requests.length ? sum(requests.map((one) => one.queued)) / requests.length : 0,
    acceptance: drafted ? sum(requests.map((one) => one.accepted)) / drafted : null,
  };
}

/** Tokens per second from the first arrival to the last answer, as the report counts them: the time of the quickest answer
 * is left out, since the last request needs at least that after it came. */
function answered(over) {
  if (!over.length) return 0;
  const spent = over.map((one) => one.queued + one.served), first = Math.min(...over.map((one) => one.arrived));
  const span = Math.max(...over.map((one, i) => one.arrived + spent[i])) - first - Math.min(...spent);
  return span > 0 ? ((over.length - 1) * sum(over.map((one) => one.tokens)) * 1e9) / (over.length * span) : 0;
}
