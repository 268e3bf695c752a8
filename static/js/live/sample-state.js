// The state of a sample, folded from its events. Pure: no page, no clock, no network. Live, late, replayed and tested
// differ only in who calls `fold`.

/**
 * A round is what `STEPS.verified` makes of its events: `drafted` is what the draft proposed; the target kept the first
 * `accepted` of it and then said `token`. The `fate` of a token is `accepted`, `correction`, `bonus`, or `own` where the
 * target spoke without a draft.
 *
 * @typedef {{id: number, round: number, fate: string}} Token
 * @typedef {ReturnType<typeof begin>} State
 */

const NOTHING_DRAFTED = {
  lookahead: 0, drafted: [], confidence: [], estimate: [], stop: "", source: "none", passes: 0,
  draftStart: 0, draftEnd: 0, backup: "", branches: [], predictedHit: 0, anticipateStart: 0, anticipateEnd: 0,
  fanout: [], busy: 0, idle: 0,
};

export class Hole extends Error {}

/** @returns {State} */
export function begin() {
  return { seq: 0, promptTokens: 0, prefillNs: 0, arrivedNs: 0, queuedNs: 0, pending: {}, rounds: [], deliveries: [], tokens: [], nowNs: 0, reason: null };
}

/**
 * The state after more events. A repeat changes nothing; an event that is not the next one throws. The state that was
 * stays as it is; what grows is copied once, however many events there are.
 * @param {State} state
 * @returns {State}
 */
export function foldAll(events, state = begin()) {
  let next = state;
  for (const event of events) {
    if (event.seq <= next.seq) continue;
    if (event.seq !== next.seq + 1) throw new Hole(`event ${event.seq} came where ${next.seq + 1} was due`);
    const step = STEPS[event.event];
    if (!step) throw new Error(`an event of an unknown kind: ${event.event}`);
    if (next === state) next = { ...state, rounds: [...state.rounds], deliveries: [...state.deliveries], tokens: [...state.tokens] };
    step(next, event);
    next.seq = event.seq;
  }
  return next;
}

export const fold = (state, event) => foldAll([event], state);

/** When an event was over, on the sample's own clock. */
export const timeOf = (event) => (event.event === "started" ? event.prefill_ns : event.end_ns);

/** What each kind does to a state of our own, whose lists are our own too. What hangs in them is never changed. */
const STEPS = {
  started: (state, event) => {
    state.promptTokens = event.prompt_tokens;
    state.prefillNs = state.nowNs = event.prefill_ns;
    state.arrivedNs = event.arrived_ns ?? 0;
    state.queuedNs = event.queued_ns ?? 0;
  },

  prompted: () => {}, // for replays

  // A server sends tokens and tells no rounds. Text without ids, or without a tokenizer for them, stands in its first token.
  delivered: (state, event) => {
    const ids = !event.text || !event.count ? event.tokens : [event.text, ...Array(event.count - 1).fill("")];
    const number = state.deliveries.length + 1, start = state.tokens.length;
    state.tokens.push(...ids.map((id) => ({ id, round: number, fate: "own" })));
    state.deliveries.push({ ...NOTHING_DRAFTED, number, start, accepted: ids.length - 1, token: ids.at(-1) ?? "", outcome: "delivered",
      wait: 0, verifyStart: state.nowNs, verifyEnd: event.end_ns, lost: "" });
    state.nowNs = event.end_ns;
  },

  reported: () => {},

  drafted: (state, event) => {
    state.nowNs = Math.max(state.nowNs, event.end_ns);
    state.pending = {
      ...state.pending, lookahead: event.lookahead, drafted: event.tokens, confidence: event.confidence,
      estimate: event.estimate, stop: event.stop, source: event.source, passes: event.passes,
      draftStart: event.start_ns, draftEnd: event.end_ns, backup: event.backup ?? "",
    };
  },

  // Beside a running verification its own round is not over; told afterwards, it is the last one.
  anticipated: (state, event) => {
    const ahead = {
      branches: event.branches, predictedHit: event.predicted_hit,
      anticipateStart: event.start_ns, anticipateEnd: event.end_ns, fanout: event.fanout ?? [],
      busy: event.busy_ns ?? 0, idle: event.idle_ns ?? 0,
    };
    const last = state.rounds.at(-1);
    if (last?.number === event.round) state.rounds[state.rounds.length - 1] = { ...last, ...ahead };
    else state.pending = { ...state.pending, ...ahead };
  },

  verified: (state, event) => {
    const round = {
      ...NOTHING_DRAFTED, ...state.pending, number: event.round, start: state.tokens.length,
      accepted: event.accepted, token: event.token, outcome: event.outcome, wait: event.wait_ns,
      verifyStart: event.start_ns, verifyEnd: event.end_ns, lost: event.lost ?? "",
    };
    const kept = round.drafted.slice(0, round.accepted);
    state.tokens.push(
      ...kept.map((id) => ({ id, round: round.number, fate: "accepted" })),
      { id: round.token, round: round.number, fate: round.drafted.length ? round.outcome : "own" },
    );
    state.rounds.push(round);
    state.pending = {};
    state.nowNs = event.end_ns;
  },

  // The text may end inside a round, at an end token or a stop string: what lies behind is not part of it.
  finished: (state, event) => {
    state.nowNs = event.end_ns;
    state.reason = event.reason;
    state.tokens.length = Math.min(state.tokens.length, event.new_tokens);
  },
};

// ---- what the pictures ask for

/** Decoding time so far; reading the prompt is excluded, as in every speed that is reported. */
export const decodeNs = (state) => Math.max(0, state.nowNs - state.prefillNs);

export const tokensPerSecond = (state) => (decodeNs(state) ? (state.tokens.length * 1e9) / decodeNs(state) : 0);

/** Parts in which the text came: rounds, or the deliveries of a server. */
export const partsOf = (state) => (state.deliveries.length ? state.deliveries : state.rounds);

/** Points of "tokens over time": after each part, milliseconds of decoding and tokens in the text. */
export function progress(state) {
  const points = [[0, 0]];
  for (const round of partsOf(state)) {
    const tokens = Math.min(round.start + round.accepted + 1, state.tokens.length);
    points.push([(round.verifyEnd - state.prefillNs) / 1e6, tokens]);
  }
  return points;
}
