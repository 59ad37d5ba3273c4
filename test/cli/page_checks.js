// What test_page.sh checks inside a page that a browser has drawn: it runs after the page's own
// script and leaves its findings as text in <pre id="checks">, one line each, the last "checks: N".
"use strict";

const findings = [];
let checksDone = 0;

function expect(condition, text) {
  checksDone++;
  if (!condition) findings.push(`FAILED: ${text}`);
}

const same = (value, wanted, text) => expect(value === wanted, `${text}: ${value}, not ${wanted}`);
const all = (at, selector) => [...at.querySelectorAll(selector)];
const textsOf = (at, selector) => all(at, selector).map((x) => x.textContent);
const near = (x, y, within) => Math.abs(x - y) <= within;

// The number with all its digits that stands under a head figure's name.
function figureOf(article, name) {
  const entry = all(article, "dl > div").find((x) => x.querySelector("dt").textContent === name);
  return entry ? Number(entry.querySelector("dd > data").value) : NaN;
}

// [x, y, width, height] of each rectangle of a path.
function boxesOf(path) {
  return path.getAttribute("d").split("z").filter((x) => x).map((x) => {
    const [, left, top, width, height] = /^M(\S+) (\S+)h(\S+)v(\S+)h/.exec(x).map(Number);
    return [left, top, width, height];
  });
}

function checkFigures(article, plan) {
  same(figureOf(article, "step, predicted"), plan.step_seconds, "step");
  same(figureOf(article, "computing"), plan.compute_seconds, "computing");
  same(figureOf(article, "messages"), plan.comm_seconds, "messages");
  same(figureOf(article, "received in a step"), plan.comm_bytes, "received");
  same(figureOf(article, "memory of the heaviest device"), plan.memory.peak, "memory");
  if (plan.n_units)
    same(figureOf(article, `${plan.units} in a second`), plan.n_units / plan.step_seconds, "rate");
  const name = page.plans.length > 1 ? plan.name : plan.model;
  same(article.querySelector("h1").textContent, name, "title");
  const titles = ["Where tensors live", "One step in time", "Memory over the step"];
  if (plan.caches) titles.push("Caches of tables");
  titles.push("Messages of one step");
  if (plan.devices) titles.push("Devices and links");
  same(textsOf(article, "h2").join(), titles.join(), "sections");
}

// The items side by side, each as wide as its share.
function checkMemoryBar(article, plan) {
  const most = Math.max(1, plan.memory.peak, plan.limit_bytes);
  const parts = MEMORY.filter((name) => plan.memory[name] > 0);
  const boxes = all(article.querySelector("svg.bar"), "path.is").map((path) => boxesOf(path)[0]);
  let end = 0;
  same(boxes.length, parts.length, "items of memory");
  parts.forEach((name, i) => {
    const wide = (plan.memory[name] / most) * WIDE;
    expect(near(boxes[i][0], end, 0.06) && near(boxes[i][2], wide, 0.06), `${name} in the bar`);
    end += wide;
  });
  const table = all(article, "table").find((x) => x.textContent.startsWith("at the peak"));
  const wanted = [...MEMORY.map((name) => plan.memory[name]), plan.memory.peak];
  same(all(table, "data").map((x) => x.value).join(), wanted.join(), "items in the table");
}

// No step is lost, messages lie below what is computed, and no two blocks lie over each other.
function checkLanes(drawing, steps) {
  const boxes = [];
  let found = 0;
  for (const path of all(drawing, "path.step")) {
    const kind = Number(/k(\d)/.exec(path.getAttribute("class"))[1]), text = tipAt(path);
    found += Number((/^(\d+) steps,/.exec(text) || [0, 1])[1]);
    expect(text.includes(page.kinds[kind]), `a block says its kind: ${text}`);
    for (const box of boxesOf(path)) {
      const within = box[0] >= LEFT - 0.1 && box[0] + box[2] <= LEFT + PLOT + 0.1;
      expect(box[1] > 20 === kind >= 4, "messages are below computing");
      expect(within, "blocks are within the plot");
      boxes.push(box);
    }
  }
  if (steps !== undefined) same(found, steps, "steps in the time line");
  boxes.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
  const over = boxes.filter((box, i) => boxes.slice(i + 1).some((other) =>
    Math.min(box[0] + box[2], other[0] + other[2]) - Math.max(box[0], other[0]) > 0.2 &&
    Math.min(box[1] + box[3], other[1] + other[3]) - Math.max(box[1], other[1]) > 0));
  same(over.length, 0, "blocks over each other");
  return boxes.length;
}

// The mouse drawn over a tenth of the step shows that tenth; a double click shows all again.
function checkZoom(drawing) {
  const before = drawing.innerHTML, box = drawing.getBoundingClientRect();
  const mouse = (type, share, target) => {
    const clientX = box.left + ((LEFT + share * PLOT) / WIDE) * box.width, clientY = box.top + 5;
    const about = { pointerType: "mouse", bubbles: true, clientX, clientY };
    target.dispatchEvent(new PointerEvent(type, about));
  };
  mouse("pointerdown", 0.5, drawing);
  mouse("pointermove", 0.55, window);
  mouse("pointerup", 0.6, window);
  const count = checkLanes(drawing);
  expect(count > 0 && drawing.innerHTML !== before, "a closer look");
  drawing.dispatchEvent(new MouseEvent("dblclick"));
  same(drawing.innerHTML === before, true, "all again");
}

function checkTime(article, plan, { steps: columns }) {
  const at = all(article, "section")[1], drawing = at.querySelector("svg.wide");
  checkLanes(drawing, plan.steps.n);
  checkZoom(drawing);
  const seconds = {}, buttons = all(at, ".key button"), [button] = buttons;
  columns.what.forEach((k, i) => {
    const { kind } = columns.whats[k];
    seconds[kind] = (seconds[kind] || 0) + columns.length[i] / columns.ticks;
  });
  same(buttons.length, Object.keys(seconds).length, "kinds");
  Object.entries(seconds).forEach(([kind, sum], k) => {
    const shown = Number(buttons[k].querySelector("data").value);
    expect(buttons[k].textContent.startsWith(page.kinds[kind]), `the kind ${page.kinds[kind]}`);
    expect(near(shown, sum, 1e-9 * plan.step_seconds), `seconds of ${page.kinds[kind]}`);
  });
  button.click();
  same(at.dataset.only !== undefined, true, "a kind picked out");
  button.click();
  same(at.dataset.only, undefined, "no kind picked out");
  for (const svg of all(at, "svg.wide").slice(1)) checkLanes(svg);
  for (const title of textsOf(at, "h3")) // a block of many is a small part of the step
    expect(/^(Forward|Backward) pass of block /.test(title), `a title: ${title}`);
  for (const { value } of all(at, "h3 data"))
    expect(value < plan.step_seconds / findBlocks(plan).middle, `a block takes ${value} s`);
}

function checkTensors(article, plan) {
  const cards = all(article, ".card"), cut = [...plan.weights, ...plan.activations]
    .filter((x) => x.at.some((place) => place.text !== "whole"));
  same(textsOf(article, ".card b").join(), cut.map((x) => x.name).join(), "cards");
  cards.forEach((card, i) => {
    const titles = all(card.querySelector("svg.cell"), "g").map(tipAt);
    expect(titles.length > 0, `a picture of ${cut[i].name}`);
    for (const title of titles)
      expect(/^\[(\d+:\d+, )?\d+:\d+\].*; devices? [\d ]+/.test(title), `a title: ${title}`);
  });
  const known = document.body.dataset.known;
  if (known) expect(all(article, "svg.cell g").some((x) => tipAt(x) === known), `a part ${known}`);
}

function checkMessages(article, plan) {
  const at = all(article, "section")[3], { rows, bytes, seconds } = plan.messages;
  same(all(at, "tbody tr").length, Math.min(rows.length, 25), "rows of messages");
  if (rows.length)
    same(all(at, "tfoot data").map((x) => x.value).join(), [bytes, seconds].join(), "all messages");
}

function checkSideBySide() {
  const links = all(document, "a"), { weights, rows } = page.differences;
  for (const link of links)
    expect(document.querySelector(link.getAttribute("href")), `a link leads nowhere: ${link.href}`);
  same(links.length, 2 * page.plans.length, "links");
  const step = all(document, "tr").find((x) => x.firstChild.textContent === "step");
  const wanted = page.plans.map((plan) => plan.step_seconds);
  same(all(step, "data").map((x) => x.value).join(), wanted.join(), "steps");
  const count = rows.reduce((n, row) => n + row.count, 0);
  const title = `Weights placed differently ${count} of ${weights}`;
  expect(textsOf(document, "h3").includes(title), "differences");
  const table = all(document, "table").find((x) => x.textContent.startsWith("weight"));
  if (rows.length) same(all(table, "tbody tr").length, rows.length, "rows of differences");
}

function checkOrders() {
  const peaks = page.orders.map((order) => Math.max(...order.live));
  page.orders.forEach((order, k) =>
    same(figureOf(document, `order ${order.name}`), peaks[k], `peak of ${order.name}`));
  same(figureOf(document, "no order is below"), page.bound, "bound");
  same(textsOf(document, "h2").join(), "What is alive at the peaks", "sections");
  same(all(document, "table").length, 2, "tables");
  same(all(document, "svg.wide path.live").length, 1, "one order is filled");
  const lines = all(document, "svg.wide path.before, svg.wide path.between");
  same(lines.length, page.orders.length - 1, "the others are lines");
}

function checkTexts() {
  const sizes = [[0, "0 B"], [1023, "1023 B"], [1.25 * 2 ** 10, "1.2 KiB"],
    [1.75 * 2 ** 10, "1.8 KiB"], [100.5 * 2 ** 20, "100 MiB"],
    [101.5 * 2 ** 20, "102 MiB"], [99.96 * 2 ** 30, "100.0 GiB"]];
  for (const [bytes, text] of sizes) same(bytesText(bytes), text, "a size");
  const times = [[0, "0"], [1.5, "1.50 s"], [0.99951, "1.00 s"], [0.0247, "24.7 ms"],
    [3.2e-7, "0.32 µs"]];
  for (const [seconds, text] of times) same(secondsText(seconds), text, "a time");
  same(shortLabel("h.3.mlp.fc/einsum.41", 200), "mlp.fc/einsum", "a long label");
  same(shortLabel("h.3.mlp.fc/einsum.41", 50), "mlp.fc", "a shorter label");
  same(shortLabel("h.3.mlp.fc/einsum.41", 20), "fc", "the shortest label");
  same(shortLabel("h.3.mlp.fc/einsum.41", 10), "", "no label");
}

function checkPage() {
  checkTexts();
  same(errors.join("; "), "", "script errors");
  same(all(document, "img, iframe, link").length, 0, "markup from outside");
  const text = document.querySelector("main").textContent;
  const none = /.{0,20}(undefined|null|NaN|\[object|Infinity)/.exec(text);
  same(none && none[0], null, "what is no figure");
  if (page.orders) {
    checkOrders();
    return;
  }
  const articles = all(document, "article");
  same(articles.length, page.plans.length, "plans");
  const { plans } = JSON.parse(document.getElementById("data").textContent); // as they were written
  articles.forEach((article, i) => {
    for (const part of [checkFigures, checkMemoryBar, checkTensors, checkTime, checkMessages])
      part(article, page.plans[i], plans[i]);
  });
  if (page.plans.length > 1) checkSideBySide();
}

const found = document.createElement("pre");
found.id = "checks";
try {
  checkPage();
} catch (error) {
  findings.push(`FAILED: ${error.message}`);
}
found.textContent = ["", ...findings, `checks: ${checksDone}`].join("\n");
document.body.append(found);
