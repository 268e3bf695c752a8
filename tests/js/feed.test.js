import assert from "node:assert/strict";
import { test } from "node:test";
import { Feed, RETRY_MS, SILENCE_MS, SOCKET_AGAIN_MS } from "../../static/js/live/feed.js";
import { Part } from "../../static/js/live/part.js";

/** A browser in which nothing happens unless the test says so. */
class World {
  sockets = [];
  requests = [];
  timers = new Map();
  frames = [];
  modes = [];
  count = 0;

  feed(more = {}) {
    const feed = new Feed(
      {
        socketUrl: "ws://here/ws", pollUrl: "/events/", onFrame: (frame) => this.frames.push(frame),
        onMode: (mode, sentence) => this.modes.push(mode === "refused" ? sentence : mode), ...more,
      },
      {
        socket: () => {
          const socket = { sent: [], send: (text) => socket.sent.push(JSON.parse(text)), close: () => (socket.closed = true) };
          this.sockets.push(socket);
          return socket;
        },
        fetch: (url, { signal }) => new Promise((resolve, reject) => {
          this.requests.push({ url, answer: (status, body) => resolve({ status, ok: status < 400, json: async () => body }), fail: reject });
          signal.addEventListener("abort", () => reject(new Error("called off")));
        }),
        after: (ms, call) => (this.timers.set(++this.count, { ms, call }), this.count),
        cancel: (timer) => this.timers.delete(timer),
        onNetwork: (call) => (this.network = call),
      },
    );
    feed.start();
    return feed;
  }

  get socket() { return this.sockets.at(-1); }
  open() { this.socket.onopen(); }
  tell(frame) { this.socket.onmessage({ data: JSON.stringify([frame]) }); }
  close(code = 1006, reason = "") { this.socket.onclose({ code, reason }); }

  /** Let the one timer of this length run out. */
  ring(ms) {
    const [id, timer] = [...this.timers].find(([, timer]) => timer.ms === ms) ?? assert.fail(`no timer of ${ms} ms`);
    this.timers.delete(id);
    timer.call();
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const events = (sample, ...seqs) => ({ t: "events", sample, events: seqs.map((seq) => ({ seq })), words: {} });

test("it asks from its cursors, and again from where it was after the line broke", () => {
  const world = new World();
  const feed = world.feed({ since: "noon" });
  feed.follow({ a: 7 });
  world.open();
  assert.deepEqual(world.socket.sent, [{ t: "follow", since: "noon", after: { a: 7 } }]);

  world.tell(events("a", 8, 9));
  world.tell(events("b", 1, 2, 3));
  world.close();
  assert.deepEqual(world.modes, ["live", "reconnecting"]);
  world.ring(RETRY_MS[0]);
  world.open();
  assert.deepEqual(world.socket.sent, [{ t: "follow", since: "noon", after: { a: 9, b: 3 } }]);
  assert.deepEqual(world.modes, ["live", "reconnecting", "live"]);
  feed.follow({ old: 0, a: 0 });
  assert.deepEqual(world.socket.sent.slice(1), [{ t: "follow", after: { old: 0 } }]);
});

test("what comes again moves nothing back, and what leaves a gap is asked for from where it is", () => {
  const world = new World();
  world.feed();
  world.open();
  for (const frame of [events("a", 1, 2, 3), events("a", 2), events("a", 6, 7), events("a", 3, 4)]) world.tell(frame);
  world.tell({ t: "complete", sample: "a", last_seq: 5 });
  assert.deepEqual(world.socket.sent.slice(1).map(({ after }) => after), [{ a: 3 }, { a: 4 }]);
  world.tell(events("a", 5));
  const end = { t: "complete", sample: "a", last_seq: 5 };
  for (const frame of [end, end, events("a", 4, 5)]) world.tell(frame);
  assert.deepEqual(world.frames, [events("a", 1, 2, 3), events("a", 2), events("a", 3, 4), events("a", 5), end]);
});

test("what a socket left out before the end is fetched, but what was cut off is not waited for", async () => {
  const world = new World();
  const feed = world.feed();
  feed.follow({ whole: 2, cut: 1 });
  world.open();
  world.tell({ t: "finished" });
  assert.equal(world.requests[0].url, "/events/?wait=0&after=whole%3A2%2Ccut%3A1");
  const rest = [events("whole", 3), { t: "complete", sample: "whole", last_seq: 3 }, { t: "finished" }];
  world.requests[0].answer(200, { frames: rest });
  await settled();
  world.requests[1].answer(200, { frames: [{ t: "finished" }] });
  await settled();
  assert.equal(world.requests.length, 2);
});

test("where sockets are blocked it polls, from the same cursors, until a socket opens", async () => {
  const world = new World();
  const feed = world.feed();
  feed.follow({ a: 2 });
  world.close();
  world.ring(RETRY_MS[1]);
  world.close();
  assert.equal(world.requests[0].url, "/events/?wait=0&after=a%3A2");
  world.requests[0].answer(503, {});
  await settled();
  world.ring(RETRY_MS[0]);
  await settled();
  assert.equal(world.modes.at(-1), "reconnecting"); // nobody calls that polling
  world.requests[1].answer(200, { frames: [events("a", 3)] });
  await settled();
  assert.equal(world.modes.at(-1), "polling");
  assert.equal(world.requests[2].url, "/events/?wait=25&after=a%3A3");

  world.ring(SOCKET_AGAIN_MS);
  world.open();
  await settled();
  assert.equal(world.modes.at(-1), "live");
  assert.equal(world.requests.length, 3);
  assert.deepEqual(world.socket.sent[0].after, { a: 3 });
});

test("a silent line is given up, a change of the network waits for no pause, and a refusal is not argued with", () => {
  const world = new World();
  world.feed();
  world.open();
  world.ring(SILENCE_MS);
  assert.ok(world.sockets[0].closed);
  world.ring(RETRY_MS[0]);
  world.open();
  world.network();
  assert.ok(world.sockets[1].closed);
  assert.deepEqual(world.modes, ["live", "reconnecting", "live", "reconnecting"]);
  world.open();
  assert.equal(world.sockets.length, 3);
  world.close(4004, "There is no such comparison that you may see.");
  assert.equal(world.modes.at(-1), "There is no such comparison that you may see.");
  assert.equal(world.timers.size, 0);
});

test("after the end it stays quiet, and still fetches an older sample when asked", async () => {
  const world = new World();
  const feed = world.feed();
  world.open();
  world.tell({ t: "finished" });
  world.close(1000);
  assert.deepEqual(world.modes, ["live", "finished"]);
  assert.equal(world.timers.size, 0);

  feed.follow({ a: 0 });
  world.requests[0].answer(200, { frames: [events("a", 1, 2)] });
  await settled();
  assert.equal(world.requests[1].url, "/events/?wait=0&after=a%3A2");
  world.requests[1].answer(200, { frames: [{ t: "complete", sample: "a", last_seq: 2 }] });
  await settled();
  assert.equal(world.requests.length, 2);
});

test("a part of a page is asked for once in a burst, in a stream too, again after a fault, and never shown overtaken", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const asked = [], shown = [], said = (text, status = 200) => ({ ok: status < 400, status, text: async () => text });
  globalThis.location = { search: "" };
  globalThis.fetch = () => new Promise((resolve) => asked.push(resolve));
  const verdict = new Part("verdict", (text) => shown.push(text));
  for (let i = 0; i < 15; i++) {
    verdict.renew();
    t.mock.timers.tick(100);
  }
  assert.equal(asked.length, 5);
  for (const [number, text] of [[0, "first"], [2, "third"], [1, "second"]]) {
    asked[number](said(text));
    await settled();
  }
  assert.deepEqual(shown, ["first", "third"]);
  asked[3](said("", 503));
  await settled();
  t.mock.timers.tick(3000);
  asked[5](said("there again"));
  await settled();
  assert.equal(shown.at(-1), "there again");
});
