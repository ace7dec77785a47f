// The page shows answers to its own requests, and nothing else. The page counts a lease from the
// moment before the request: the page then shows the end of the lease too early, never too late. An
// event only says what to ask anew, because an event can lie in a buffer for any time.

const LIMIT = 1000; // Elections in an answer.
const MOST = 10; // Answers of a list.
const ROWS = 50; // Rows on a page.
const PATIENCE = 5000; // Time for an answer, in ms, as all times here.
const SLOWEST = 2000; // Longest time between two lists of few elections.
const FASTEST = 500;
const SOON = 60; // Time in which events are gathered.
const FEW = 8; // So many changed elections are asked one by one.
const REOPEN = 5000; // Time between two attempts to hear events that were refused.
const STALE = 3500; // Age of an answer that says nothing any more, but for a lease that runs.

// Time that also passes in suspend, unlike `performance.now()`. A wall clock that is set forward
// makes leases end early; a wall clock that is set back changes nothing.
let skipped = 0;
let apart = Date.now() - performance.now();
function now() {
  const steady = performance.now();
  const difference = Date.now() - steady;
  if (difference - apart > 250) skipped += difference - apart;
  if (difference - apart > 250 || difference < apart) apart = difference;
  return steady + skipped;
}

const byId = (id) => document.getElementById(id);
const collator = new Intl.Collator(undefined, { numeric: true });

let node = null;
const elections = new Map(); // Name to {told, sent, most, words}.
let sorted = [];
let filter = "all";
let first = 0; // The first row of the page.
let open = null; // Name of the election in the detail.
let alone = null; // {name, told}: the answer for it alone, with its history.
let link = "connecting";
let lostSince = 0;
let lostWhy = "";
let gap = null;

// Asking.

let asking = false;
let timer = null;
let soon = null;
let listDue = 0;
let cost = 0; // Time that the last question took.
let failures = 0;
const changed = new Set(); // Elections to ask for.

async function ask(path, mayMiss) {
  const sent = now();
  const response = await fetch(path, {
    cache: "no-store",
    signal: AbortSignal.timeout(PATIENCE),
    headers: { accept: "application/json" },
  });
  if (response.status === 404 && mayMiss) return { sent, told: null };
  if (!response.ok) throw new Error(`${path}: status ${response.status}`);
  // As a number, JavaScript would round a large fence.
  const text = (await response.text()).replace(/"fence":(\d{16,})/g, '"fence":"$1"');
  return { sent, told: JSON.parse(text) };
}

async function askAll() {
  const answers = [];
  let after = "";
  while (answers.length < MOST) {
    const answer = await ask(`v1/elections?limit=${LIMIT}${after}`);
    answers.push(answer);
    if (answer.told.after === undefined) break;
    after = `&after=${encodeURIComponent(answer.told.after)}`;
  }
  const isFirst = node === null;
  const names = new Set();
  for (const { sent, told } of answers) {
    for (const one of told.elections) {
      names.add(one.election);
      take(one, sent, isFirst);
    }
  }
  node = answers[0].told.node;
  for (const name of elections.keys()) if (!names.has(name)) elections.delete(name);
  if (sorted.length !== names.size || !sorted.every((name) => names.has(name))) {
    sorted = [...names].sort(collator.compare);
  }
  listDue = now() + pauseOf();
}

async function askOne(name) {
  const { sent, told } = await ask(`v1/elections/${encodeURIComponent(name)}`, true);
  if (told && elections.has(name)) take(told, sent, false);
  if (name === open) alone = { name, told };
}

// Asks for what has changed, or for all. One request follows the other, so that no answer
// overtakes a later one.
async function sync() {
  if (asking || document.hidden) return;
  asking = true;
  clearTimeout(timer);
  clearTimeout(soon);
  soon = null;
  const names = [...changed];
  changed.clear();
  const start = performance.now();
  try {
    const isList = link === "lost" || now() >= listDue || names.length > FEW
      || names.length === 0 || !names.every((name) => elections.has(name));
    if (isList) await askAll();
    if (open !== null && (isList || names.includes(open))) await askOne(open);
    if (!isList) for (const name of names) if (name !== open) await askOne(name);
    failures = 0;
    if (link === "lost") say("Connected again.");
    if (!stream) silentSince = now();
    if (!document.hidden) listen();
    setLink(linkOf());
  } catch (error) {
    failures += 1;
    lostWhy = error.message;
    listDue = 0;
    if (link !== "lost") {
      lostSince = now();
      say("Connection lost. This page may be out of date.");
    }
    setLink("lost");
  }
  cost = performance.now() - start;
  asking = false;
  render();
  if (document.hidden) return;
  const lost = Math.min(SLOWEST, 250 * 2 ** failures);
  timer = setTimeout(sync, link === "lost" ? lost : Math.max(0, listDue - now()));
  if (changed.size > 0) askSoon();
}

// Time to the next list: half of the shortest lease. Renewals are no events, so lists show them.
function pauseOf() {
  const slowest = Math.max(SLOWEST, 4 * elections.size);
  let least = 2 * slowest;
  for (const one of elections.values()) least = Math.min(least, leftOf(one) ?? least);
  return Math.max(Math.min(4 * cost, slowest), FASTEST, elections.size, least / 2);
}

function askSoon() {
  if (asking || link === "lost") return;
  soon ??= setTimeout(sync, Math.max(SOON, Math.min(4 * cost, SLOWEST)));
}

function hear(name) {
  if (name === undefined) listDue = 0;
  changed.add(name ?? "");
  askSoon();
}

// Events.

let stream = null;
let streamSince = 0;
let silentSince = 0; // From then on there were no events.

function listen() {
  if (stream && stream.readyState !== EventSource.CLOSED) return;
  if (stream && now() - streamSince < REOPEN) return;
  streamSince = now();
  stream = new EventSource("v1/events");
  stream.onopen = () => hear();
  stream.onerror = () => hear();
  for (const kind of ["view", "here"]) {
    stream.addEventListener(kind, (event) => hear(parsed(event.data)?.election));
  }
  stream.addEventListener("member", () => hear());
  stream.addEventListener("gap", (event) => {
    gap = { missed: parsed(event.data)?.missed ?? null, at: new Date(), since: now() };
    hear();
  });
}

function linkOf() {
  if (stream?.readyState === EventSource.OPEN) {
    silentSince = now();
    return "live";
  }
  return now() - silentSince < REOPEN ? "connecting" : "asking";
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// A page that nobody sees asks nothing.
function onVisibility() {
  if (document.hidden) {
    stream?.close();
    stream = null;
    clearTimeout(timer);
    clearTimeout(soon);
    soon = null;
  } else {
    listDue = 0;
    sync();
  }
}

// States.

function take(told, sent, isFirst) {
  const before = elections.get(told.election);
  const isSame = before && ["state", "id", "fence"].every((key) => before.told[key] === told[key]);
  const left = told.remaining_ms ?? 0;
  const most = isSame ? Math.max(before.most, left) : left;
  const words = [told.election, told.id, told.value].join("\n").toLowerCase();
  elections.set(told.election, { told, sent, most, words });
  if (!isSame && !isFirst) announce(told);
}

// The rest of the lease by the local clock; null if the answer has no rest.
function leftOf({ told, sent }) {
  if (told.state !== "leader" || told.remaining_ms === undefined) return null;
  return told.remaining_ms - (now() - sent);
}

// The state that the page may show now. The lease of the last answer may be over by now.
function stateOf(one) {
  const { told, sent } = one;
  const passed = now() - sent;
  const left = leftOf(one);
  const known = { left, held: null, why: told.why ?? "", state: told.state };
  known.since = told.since_ms == null ? null : told.since_ms + passed;
  known.age = told.age_ms == null ? null : told.age_ms + passed;
  if (left !== null && left > 0) return known;
  const unknown = { ...known, state: "unknown", left: null };
  if (left !== null) {
    unknown.why = `the lease of ${told.id} has ended, and no answer has come since`;
    return { ...unknown, since: -left };
  }
  const isLost = link === "lost";
  if (told.state !== "unknown" && (isLost || passed > STALE + 4 * elections.size)) {
    const last = told.state === "leader" ? `${told.id} led` : "nobody led";
    unknown.why = `${last} in the last answer, ${wholeSeconds(passed)} ago`;
    return { ...unknown, since: isLost ? now() - lostSince : null };
  }
  if (told.held_ms !== undefined) known.held = Math.max(0, told.held_ms - passed);
  return known;
}

// The candidate of this process in words.
function hereOf({ told, sent }) {
  const { text, isAlarm } = hereIn(told.here, now() - sent);
  return { text: link === "lost" && text ? `last answer: ${text}` : text, isAlarm };
}

function hereIn(here, passed) {
  if (!here || here.state === "idle") return { text: "", isAlarm: false };
  if (here.overdue) return { text: `overdue: ${here.overdue}`, isAlarm: true };
  if (here.state === "lost") return { text: `lost: ${here.lost ?? "its lease"}`, isAlarm: true };
  const waited = (here.waits?.for_ms ?? 0) + (link === "lost" ? 0 : passed);
  const waits = here.waits ? `waits ${wholeSeconds(waited)}: ${here.waits.text}` : "";
  if (here.state !== "leading") return { text: waits || here.state, isAlarm: false };
  const left = here.remaining_ms === undefined ? null : here.remaining_ms - passed;
  if (left !== null && left <= 0) return { text: "its lease is over", isAlarm: true };
  return { text: ["leads", waits].filter(Boolean).join("; "), isAlarm: Boolean(waits) };
}

// Words.

function span(ms) {
  if (ms < 10_000) return `${(Math.floor(Math.max(0, ms) / 100) / 10).toFixed(1)} s`;
  const s = Math.floor(ms / 1000);
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86_400)} d`;
}

// A span that changes once a second.
function wholeSeconds(ms) {
  return ms < 10_000 ? `${Math.floor(Math.max(0, ms) / 1000)} s` : span(ms);
}

const leaderWords = ({ id, value, fence }) =>
  [id, value ? `(${value})` : "", fence == null ? "" : `fence ${fence}`].filter(Boolean).join(" ");

const news = [];
let newsTimer = null;
function announce({ election, state, id }) {
  news.push(`${election}: ${state === "leader" ? `${id} leads` : state}.`);
  newsTimer ??= setTimeout(() => {
    const text = news.length > 3 ? `${news.length} elections changed.` : news.join(" ");
    news.length = 0;
    newsTimer = null;
    say(text);
  }, 1000);
}

function say(text) {
  byId("said").textContent = text;
}

function setLink(to) {
  link = to;
  document.body.classList.toggle("lost", to === "lost");
}

// Drawing. Nodes are kept, and only what differs is written.

function write(at, text) {
  if (at.shown === text) return;
  at.shown = text;
  at.textContent = text;
}

function mark(at, name, value) {
  if (at.dataset[name] !== value) at.dataset[name] = value;
}

function make(tag, parent, className) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  parent?.append(made);
  return made;
}

function render() {
  renderLink();
  renderNode();
  renderRows();
  renderDetail();
}

function renderLink() {
  const at = byId("link");
  mark(at, "link", link);
  let text = link === "asking" ? "no event stream: this page asks every 2 seconds" : link;
  if (link === "lost") {
    text = `Connection lost ${wholeSeconds(now() - lostSince)} ago (${lostWhy}), trying again. `
      + "Grey values are old, and may have changed.";
  } else if (gap && now() - gap.since < 60_000) {
    const missed = gap.missed === null ? "changes" : `${gap.missed} changes`;
    text += `; ${missed} missed at ${gap.at.toLocaleTimeString()}, read again`;
  }
  write(at, text);
}

function renderNode() {
  if (!node) return;
  write(byId("node-name"), node.name);
  if (document.title !== `${node.name} - Tenure`) document.title = `${node.name} - Tenure`;
  const lost = link === "lost";
  const ready = lost ? "" : node.ready ? "ready" : "not ready";
  write(byId("node-facts"), [node.protocol, node.version, ready].filter(Boolean).join(" · "));
  byId("node-why").hidden = lost || node.ready || !node.why;
  write(byId("node-why"), `Not ready: ${node.why ?? ""}`);
  const members = node.members ?? [];
  byId("members-part").hidden = members.length === 0;
  write(byId("members-title"), `Members${lastAnswer()}`);
  const list = byId("members");
  while (list.children.length > members.length) list.lastChild.remove();
  members.forEach((member, nth) => {
    const item = list.children[nth] ?? memberItem(list);
    write(item.name, member.name);
    write(item.address, member.address ?? "");
    item.address.hidden = !member.address;
    write(item.state, member.text || member.state);
    mark(item.state, "up", lost ? "" : String(member.up));
  });
}

function memberItem(list) {
  const item = make("li", list);
  item.name = make("b", item, "outside");
  item.address = make("span", item, "outside");
  item.state = make("span", item, "outside");
  return item;
}

function renderRows() {
  const words = byId("search").value.trim().toLowerCase();
  const counts = { all: 0, leader: 0, vacant: 0, unknown: 0, here: 0 };
  const shown = [];
  for (const name of sorted) {
    const one = elections.get(name);
    const state = stateOf(one);
    const here = one.told.here && one.told.here.state !== "idle";
    counts.all += 1;
    counts[state.state] += 1;
    if (here) counts.here += 1;
    const passes = filter === "all" || filter === state.state || (filter === "here" && here);
    if (passes && (!words || one.words.includes(words))) shown.push([one, state]);
  }
  for (const button of byId("filters").children) {
    write(button.lastElementChild, counts[button.dataset.filter].toLocaleString());
  }
  first = Math.min(first, Math.max(0, Math.ceil(shown.length / ROWS) - 1) * ROWS);
  const page = shown.slice(first, first + ROWS);
  const body = byId("rows");
  while (body.children.length > page.length) body.lastChild.remove();
  page.forEach(([one, state], nth) => fill(body.children[nth] ?? row(body), one, state));
  const none = byId("none");
  none.hidden = page.length > 0 || !node;
  write(none, counts.all ? "No election matches." : "This process watches no election.");
  byId("pager").hidden = shown.length <= ROWS;
  const to = first + page.length;
  const numbers = [first + 1, to, shown.length].map((number) => number.toLocaleString());
  write(byId("place"), `${numbers[0]} to ${numbers[1]} of ${numbers[2]}`);
  byId("before").disabled = first === 0;
  byId("after").disabled = to >= shown.length;
}

function row(body) {
  const tr = make("tr", body);
  tr.setAttribute("role", "row");
  const cell = () => {
    const td = make("td", tr);
    td.setAttribute("role", "cell");
    return td;
  };
  tr.button = make("button", cell());
  tr.button.type = "button";
  // A click that ends a selection of text opens nothing.
  tr.addEventListener("click", () => getSelection().isCollapsed && show(tr.button.shown));
  tr.state = make("span", cell(), "state");
  tr.since = make("span", tr.state.parentNode, "value");
  const leader = cell();
  tr.leader = make("span", leader, "outside");
  tr.value = make("span", leader, "value outside");
  tr.fence = cell();
  tr.lease = cell();
  tr.here = cell();
  return tr;
}

function fill(tr, one, state) {
  const { told } = one;
  const leads = state.state === "leader";
  write(tr.button, told.election);
  if ((told.election === open) !== (tr.getAttribute("aria-current") === "true")) {
    if (told.election === open) tr.setAttribute("aria-current", "true");
    else tr.removeAttribute("aria-current");
  }
  // Without a leader the reason also takes the column of the fence.
  if (tr.dataset.led !== String(leads)) {
    tr.dataset.led = String(leads);
    tr.leader.parentNode.colSpan = leads ? 1 : 2;
    tr.fence.hidden = !leads;
  }
  mark(tr.state, "state", state.state);
  write(tr.state, state.state);
  write(tr.since, state.since === null ? "" : wholeSeconds(state.since));
  const more = leads && told.others?.length ? ` and ${told.others.length} more` : "";
  write(tr.leader, leads ? `${told.id}${more}` : "");
  write(tr.value, leads ? told.value ?? "" : state.why);
  const title = leads ? leaderWords(told) : state.why;
  if (tr.value.title !== title) tr.value.title = title;
  write(tr.fence, leads && told.fence != null ? String(told.fence) : "");
  fillLease(tr.lease, one, state);
  const here = hereOf(one);
  write(tr.here, here.text);
  if (tr.here.title !== here.text) tr.here.title = here.text;
  if (tr.here.className !== (here.isAlarm ? "alarm" : "")) tr.here.classList.toggle("alarm");
}

function fillLease(at, one, state) {
  const { left, held } = state;
  if (left === null && held === null) {
    if (at.bar) at.replaceChildren();
    at.bar = null;
    return;
  }
  if (!at.bar) {
    at.replaceChildren();
    at.bar = make("span", at, "bar");
    at.bar.setAttribute("aria-hidden", "true");
    at.rest = make("i", at.bar);
    at.text = make("span", at);
  }
  at.bar.hidden = left === null;
  const share = left === null ? 0 : Math.min(1, left / Math.max(1, one.most));
  at.rest.style.transform = `scaleX(${share.toFixed(3)})`;
  mark(at.bar, "low", String(share < 1 / 3));
  write(at.text, left === null ? `held ${span(held)}` : span(left));
}

// The end of a title that shows facts of the last answer after the connection was lost.
const lastAnswer = () => (link === "lost" ? ", in the last answer" : "");

// The detail of one election.

function renderDetail() {
  const part = byId("detail");
  part.hidden = open === null;
  document.body.classList.toggle("beside", open !== null);
  byId("all").inert = open !== null && matchMedia("(max-width: 820px)").matches;
  if (open === null) return;
  write(byId("detail-title"), open);
  // In a narrow window the detail covers the line about the lost connection.
  byId("detail-lost").hidden = link !== "lost";
  write(byId("detail-lost"), `Connection lost ${wholeSeconds(now() - lostSince)} ago`);
  const one = elections.get(open);
  const state = one && stateOf(one);
  const at = byId("detail-state");
  at.className = one ? "state" : "";
  if (one) mark(at, "state", state.state);
  const since = one && state.since !== null ? ` for ${wholeSeconds(state.since)}` : "";
  const words = one ? `${state.state}${since}` : "";
  write(at, one ? words : node ? "This process does not watch this election." : "");
  renderFacts(one, state);
  renderHistory();
}

function renderFacts(one, state) {
  const told = one?.told ?? {};
  const leads = state?.state === "leader";
  const here = told.here ?? {};
  facts(byId("facts"), one ? [
    ["Why", state.why],
    ["Leader", leads ? told.id : ""],
    ["Value", leads ? told.value : ""],
    ["Fence", leads ? told.fence : ""],
    ["Lease", state.left === null ? "" : `${span(state.left)}, unless renewed`],
    ["Held", state.held === null ? "" : `${span(state.held)}: nobody else leads`],
    ["Address", leads ? told.address : ""],
    ["Incarnation", leads ? told.incarnation : ""],
    ["Also leading", leads ? (told.others ?? []).map(leaderWords).join("; ") : ""],
    ["Answer", state.age === null ? "" : `${span(state.age)} old`],
    ["Protocol", told.protocol],
  ] : []);
  const left = here.remaining_ms === undefined ? null : here.remaining_ms - (now() - one.sent);
  write(byId("here-title"), `This process${lastAnswer()}`);
  facts(byId("here"), one ? [
    ["State", here.state ?? "idle"],
    ["Candidate", here.id],
    ["Fence", here.fence],
    ["Lease", left === null ? "" : left > 0 ? span(left) : "over"],
    ["Waits", here.waits && `${here.waits.text}, for ${wholeSeconds(here.waits.for_ms)}`],
    ["Overdue", here.overdue],
    ["Last end", here.lost],
    ["Terms", here.terms],
    ["Renewals", here.renewals],
  ] : []);
}

function facts(list, pairs) {
  const told = pairs.filter(([, text]) => text !== undefined && text !== null && text !== "");
  while (list.children.length > 2 * told.length) list.lastChild.remove();
  told.forEach(([name, text], nth) => {
    write(list.children[2 * nth] ?? make("dt", list), name);
    write(list.children[2 * nth + 1] ?? make("dd", list), String(text));
  });
}

function renderHistory() {
  const list = byId("history");
  const changes = alone?.told?.history ?? [];
  while (list.children.length > changes.length) list.lastChild.remove();
  changes.forEach((change, nth) => {
    const item = list.children[nth] ?? historyItem(list);
    write(item.time, clockTime(change.time));
    if (item.time.title !== change.time) item.time.title = change.time;
    write(item.text, change.text);
  });
  byId("history-none").hidden = changes.length > 0 || !alone;
  write(byId("history-none"), "No change since this process began to watch.");
}

function historyItem(list) {
  const item = make("li", list);
  item.time = make("time", item);
  item.text = make("span", item);
  return item;
}

function clockTime(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return text;
  const today = time.toDateString() === new Date().toDateString();
  return today ? time.toLocaleTimeString() : time.toLocaleString();
}

// What people do.

function show(name) {
  location.hash = `#${encodeURIComponent(name)}`;
}

function follow() {
  let name = null;
  try {
    name = location.hash.length > 1 ? decodeURIComponent(location.hash.slice(1)) : null;
  } catch {
    name = null;
  }
  if (name === open) return;
  const was = open;
  open = name;
  alone = null;
  render();
  if (open !== null) {
    byId("detail").scrollTop = 0;
    byId("detail-title").focus();
    hear(open);
  } else if (was !== null) {
    const rows = [...byId("rows").children];
    (rows.find((tr) => tr.button.shown === was)?.button ?? byId("search")).focus();
  }
}

function close() {
  // The place of the list stays: an empty fragment would scroll to the top.
  history.pushState(null, "", location.pathname + location.search);
  follow();
}

function choose(button) {
  filter = button.dataset.filter;
  first = 0;
  for (const other of byId("filters").children) {
    other.setAttribute("aria-pressed", String(other === button));
  }
  render();
}

function turn(by) {
  first = Math.max(0, first + by * ROWS);
  render();
  byId("elections-title").scrollIntoView({ block: "nearest" });
}

byId("search").addEventListener("input", () => {
  first = 0;
  render();
});
for (const button of byId("filters").children) {
  button.addEventListener("click", () => choose(button));
}
byId("before").addEventListener("click", () => turn(-1));
byId("after").addEventListener("click", () => turn(1));
byId("close").addEventListener("click", close);
byId("rows").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const rows = [...byId("rows").children];
  const at = rows.findIndex((tr) => tr.contains(document.activeElement));
  if (step === undefined || at < 0 || !rows[at + step]) return;
  event.preventDefault();
  rows[at + step].button.focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && open !== null) close();
  if (event.key === "/" && !event.target.matches("input")) {
    event.preventDefault();
    byId("search").focus();
  }
});
window.addEventListener("hashchange", follow);
window.addEventListener("popstate", follow);
window.addEventListener("online", sync);
document.addEventListener("visibilitychange", onVisibility);

setInterval(() => document.hidden || render(), 200);
follow();
sync();
