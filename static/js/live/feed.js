// How news of a comparison reaches the page: a socket, or long-polling where sockets are blocked. Both bring the same
// frames, and both ask from the same cursors, so nothing is missed when one takes over from the other. A socket may bring
// events again, or after a gap: only what joins on is passed on, and after a gap the page asks from its cursor.

export const SILENCE_MS = 40_000; // the server's heart beats every 15 s; longer than this and the socket is dead
export const RETRY_MS = [500, 1000, 2000, 4000, 8000, 15_000];
export const FAILURES_BEFORE_POLLING = 2;
export const SOCKET_AGAIN_MS = 60_000; // while polling, how often a socket is tried again

/** What the browser provides; a test gives its own. */
const browser = {
  socket: (url) => new WebSocket(url),
  fetch: (url, options) => fetch(url, options),
  after: (ms, call) => setTimeout(call, ms),
  cancel: (timer) => clearTimeout(timer),
  onNetwork: (call) => {
    addEventListener("offline", call);
    addEventListener("online", call);
  },
};

/**
 * `mode` is `live`, `reconnecting`, `polling`, `finished` or `refused`. What is over from the start needs no socket.
 *
 * @param {{socketUrl: string, pollUrl: string, onFrame: (frame: any) => void,
 *   onMode: (mode: string, sentence: string) => void, since?: string, isOver?: boolean}} to
 */
export class Feed {
  constructor(to, world = browser) {
    this.to = to;
    this.world = world;
    this.cursors = new Map(); // sample → the last seq that arrived
    this.complete = new Set(); // samples whose last event arrived
    this.since = to.since ?? "";
    this.failures = 0;
    this.mode = "";
    this.socket = null;
    this.timers = {};
    this.isPolling = false;
    this.polling = null; // the request under way
    this.isCatchingUp = false;
  }

  start() {
    if (this.to.isOver) return this.#say("finished", "Finished");
    this.world.onNetwork(() => this.#begin());
    this.#connect();
  }

  /** Also tell of these samples, each from the seq given. */
  follow(samples) {
    const fresh = Object.entries(samples).filter(([id]) => !this.cursors.has(id));
    if (!fresh.length) return;
    for (const [id, seq] of fresh) {
      this.cursors.set(id, seq);
      this.complete.delete(id);
    }
    this.#want(Object.fromEntries(fresh));
  }

  #want(after) {
    if (this.mode === "live") this.socket.send(JSON.stringify({ t: "follow", after }));
    else if (this.mode === "finished" || this.to.isOver) this.#catchUp();
    else if (this.polling) this.polling.abort(); // the poll loop asks again at once, with the longer list
  }

  // ---- the socket

  /** The network went or came back: an open socket may be dead without a word, and no pause need be waited for. */
  #begin() {
    if (this.mode === "finished" || this.mode === "refused") return;
    this.failures = 0;
    this.#say("reconnecting", "Reconnecting");
    this.#connect();
  }

  #connect() {
    this.#drop();
    const socket = this.world.socket(this.to.socketUrl);
    this.socket = socket;
    let isOpen = false;
    socket.onopen = () => {
      isOpen = true;
      this.failures = 0;
      this.polling?.abort();
      this.#say("live", "Live");
      socket.send(JSON.stringify({ t: "follow", since: this.since, after: Object.fromEntries(this.cursors) }));
      this.#listen();
    };
    socket.onmessage = (message) => {
      this.#listen();
      for (const frame of JSON.parse(message.data)) this.#hear(frame);
    };
    socket.onclose = (event) => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.world.cancel(this.timers.silence);
      if (this.mode === "finished") return;
      if (event.code >= 4000 && event.code < 4100) return this.#say("refused", event.reason || "The server refused.");
      this.failures += isOpen ? 0 : 1;
      this.#lost();
    };
  }

  #lost() {
    if (this.failures >= FAILURES_BEFORE_POLLING) {
      this.#plan("socket", SOCKET_AGAIN_MS, () => this.#connect());
      if (!this.isPolling) this.#poll();
      return;
    }
    this.#say("reconnecting", "Reconnecting");
    this.#plan("socket", RETRY_MS[Math.min(this.failures, RETRY_MS.length - 1)], () => this.#connect());
  }

  #listen() {
    this.#plan("silence", SILENCE_MS, () => {
      const socket = this.socket;
      this.#drop();
      socket?.close();
      this.#lost();
    });
  }

  #drop() {
    const socket = this.socket;
    this.socket = null;
    this.world.cancel(this.timers.silence);
    if (socket) {
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
    }
  }

  // ---- long-polling

  async #poll() {
    this.isPolling = true;
    for (let tries = 0; this.isPolling; ) {
      const answer = await this.#ask(this.mode === "polling" ? 25 : 0); // the first one only finds out if it works
      if (!this.isPolling) return;
      if (answer === "heard") {
        tries = 0;
        this.#say("polling", "Polling");
      } else if (answer === "failed") {
        this.#say("reconnecting", "Reconnecting");
        await this.#pause(RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
      }
    }
  }

  /** After the end: fetch what is followed until all of it is here. */
  async #catchUp() {
    if (this.isCatchingUp) return this.polling?.abort(); // the loop below asks again, with the longer list
    this.isCatchingUp = true;
    let had = "", answer = "";
    while (this.cursors.size && answer !== "failed" && had !== this.#followed()) { // what was cut off has no end to wait for
      had = this.#followed();
      answer = await this.#ask(0);
    }
    this.isCatchingUp = false;
  }

  /** @returns `heard`, `failed`, or `again` when the request was called off because there is more to ask for. */
  async #ask(wait) {
    const query = new URLSearchParams({ wait: String(wait) });
    if (this.since) query.set("since", this.since);
    if (this.cursors.size) query.set("after", this.#followed());
    const request = new AbortController();
    this.polling = request;
    try {
      const response = await this.world.fetch(`${this.to.pollUrl}?${query}`, { signal: request.signal });
      if (response.status >= 400 && response.status < 500) {
        this.#say("refused", (await response.json()).detail ?? "The server refused.");
        return "failed";
      }
      if (!response.ok) return "failed";
      for (const frame of (await response.json()).frames) this.#hear(frame);
      return "heard";
    } catch {
      return request.signal.aborted ? "again" : "failed";
    } finally {
      if (this.polling === request) this.polling = null;
    }
  }

  #pause(ms) {
    return new Promise((resolve) => this.#plan("pause", ms, resolve));
  }

  // ---- both

  #followed() {
    return [...this.cursors].map(([id, seq]) => `${id}:${seq}`).join(",");
  }

  /** Whether a frame of a trace goes on from what is here. After a gap the page asks from its cursor. */
  #joins({ t, sample, events, last_seq: last }) {
    if (this.complete.has(sample)) return false;
    const have = this.cursors.get(sample) ?? 0, due = t === "events" ? events[0].seq - 1 : last;
    this.cursors.set(sample, events && due <= have ? Math.max(have, events.at(-1).seq) : have);
    if (due > have) this.#want({ [sample]: have });
    return due <= have;
  }

  #hear(frame) {
    if ((frame.t === "events" || frame.t === "complete") && !this.#joins(frame)) return;
    if (frame.t === "complete") {
      this.cursors.delete(frame.sample);
      this.complete.add(frame.sample);
    }
    if (frame.t === "samples" && frame.since) this.since = frame.since;
    this.to.onFrame(frame);
    if (frame.t === "finished") {
      this.world.cancel(this.timers.socket);
      this.#say("finished", "Finished");
      if (!this.isCatchingUp) this.#catchUp();
    }
  }

  #say(mode, sentence) {
    if (this.mode === mode) return;
    this.mode = mode;
    this.isPolling &&= mode === "polling" || mode === "reconnecting";
    this.to.onMode(mode, sentence);
  }

  #plan(name, ms, call) {
    this.world.cancel(this.timers[name]);
    this.timers[name] = this.world.after(ms, call);
  }
}
