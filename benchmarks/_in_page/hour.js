// In a socket's place: heats of eight strategies, told as fast as the page takes them until `due` events were told, and
// from then on as a server would, twenty times a second.
({ due, perSecond, rounds, prompts, report }) => {
  const AT_ONCE = 500, LAST = 2 * rounds + 2, SINCE = "2026-01-01T00:00:00+00:00";

  const event = (seq) => {
    const round = Math.floor(seq / 2), ns = seq * 1e6, when = { seq, round, start_ns: ns, end_ns: ns + 1e6 };
    if (seq === 1) return { seq, event: "started", prompt_tokens: 20, prefill_ns: 1e6 };
    if (seq === LAST) return { seq, event: "finished", reason: "length", new_tokens: 3 * rounds, end_ns: ns };
    if (seq % 2) return { ...when, event: "verified", accepted: 2, token: seq % 4096, outcome: "correction", wait_ns: 0 };
    return {
      ...when, event: "drafted", position: 3 * round - 3, lookahead: 4, stop: "limit", source: "fresh", passes: 4, backup: "",
      tokens: [1, 2, 3, 4].map((k) => (k * seq) % 4096), confidence: [0.9321, 0.8112, 0.7423, 0.6001], estimate: [],
    };
  };

  window.WebSocket = class {
    constructor() {
      Object.assign(this, { told: 0, heat: 1, run: 1, seq: 0 });
      setTimeout(() => {
        this.onopen();
        this.turn();
      }, 50);
    }

    send() {}
    close() {}

    get sample() {
      return `00000000-0000-4000-8000-${String(this.heat * 10 + this.run).padStart(12, "0")}`;
    }

    turn() {
      window.isHourOver = this.told >= due;
      const first = this.seq + 1, count = Math.min(isHourOver ? perSecond / 20 : AT_ONCE, LAST - this.seq);
      this.seq += count;
      this.told += count;
      const words = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [(this.told + i) % 4096, ` w${this.told + i}`]));
      const events = Array.from({ length: count }, (_, i) => event(first + i));
      const frames = [{ t: "events", sample: this.sample, words, events }];
      if (first === 1) frames.unshift(this.row({ is_finished: false, tokens_per_s: null, new_tokens: null }));
      if (this.seq === LAST) frames.push(...this.end());
      this.onmessage({ data: JSON.stringify(frames) });
      setTimeout(() => this.turn(), isHourOver ? 50 : 0);
    }

    /** Of a sample, and with the last of a heat a new report; then comes the next. */
    end() {
      const row = this.row({ is_finished: true, tokens_per_s: 100 + this.run, new_tokens: 3 * rounds });
      const frames = [{ t: "complete", sample: this.sample, last_seq: LAST }, row];
      if (this.run === 8) frames.push({ t: "report", ...report, samples: 8 * this.heat });
      [this.heat, this.run, this.seq] = this.run === 8 ? [this.heat + 1, 1, 0] : [this.heat, this.run + 1, 0];
      return frames;
    }

    row(more) {
      const prompt = ((this.heat - 1) % prompts) + 1, repeat = Math.ceil(this.heat / prompts);
      const counts = { drafts_by_position: [300, 300, 300, 300], accepted_by_position: [300, 300, 0, 0] };
      return { t: "samples", since: SINCE, rows: [{ id: this.sample, run: this.run, prompt, repeat, audit: null, ...counts, ...more }] };
    }
  };
}
