// Reads the profile out of the page: base64 of gzip of the bytes that
// flame_data.cc writes. README.md has the layout.

class ByteReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.decoder = new TextDecoder();
  }

  // LEB128. Exact up to 2^53, what a JavaScript number holds.
  varint() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  text() {
    const size = this.varint();
    this.at += size;
    return this.decoder.decode(this.bytes.subarray(this.at - size, this.at));
  }

  list(read) {
    return Array.from({length: this.varint()}, read);
  }

  column(size, type = Uint32Array) {
    const column = new type(size);
    for (let i = 0; i < size; i++) column[i] = this.varint();
    return column;
  }
}

const KIND = {code: 0, kernel: 1, truncated: 2, missing: 3, folded: 4};

function readNodes(reader) {
  const count = reader.varint();
  const frame = reader.column(count);
  const place = reader.column(count);
  const depth = reader.column(count);
  for (let i = 0, last = 0; i < count; i++) {
    last = depth[i] = last + 1 - depth[i];
  }
  const parent = new Uint32Array(count);
  const path = [];
  for (let i = 0; i < count; i++) {
    path[depth[i]] = i;
    parent[i] = i === 0 ? 0 : path[depth[i] - 1];
  }
  const counts = reader.column(count);
  const inlined = counts.map((c) => c & 1);
  let values = 0;
  for (const c of counts) values += c >>> 1;
  const node = new Uint32Array(values);
  for (let i = 0, at = 0; i < count; i++) {
    const end = at + (counts[i] >>> 1);
    node.fill(i, at, end);
    at = end;
  }
  const group = reader.column(values);
  const value = reader.column(values, Float64Array);
  return {count, frame, place, depth, parent, inlined,
          values: {count: values, node, group, value}};
}

function readProfile(bytes) {
  const reader = new ByteReader(bytes);
  const facts = new Map(reader.list(() => [reader.text(), reader.text()]));
  const texts = reader.list(() => reader.text());
  const threads = reader.list(() => texts[reader.varint()]);
  const groups = reader.list(() => {
    const thread = reader.varint();
    const flags = reader.varint();
    return {thread, guessed: (flags & 1) !== 0, before: (flags & 2) !== 0,
            waiting: (flags & 4) !== 0};
  });
  const frames = reader.list(() => ({
    name: texts[reader.varint()],
    module: texts[reader.varint()],
    kind: reader.varint(),
  }));
  const places = reader.list(
      () => ({file: texts[reader.varint()], line: reader.varint()}));
  const isDifference = groups.some((group) => group.before) ||
      facts.has('difference');
  return {facts, threads, groups, frames, places, isDifference,
          nodes: readNodes(reader)};
}

async function loadProfile(element) {
  const text = atob(element.textContent);
  element.remove();
  const zipped = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) zipped[i] = text.charCodeAt(i);
  const stream = new Blob([zipped]).stream().pipeThrough(
      new DecompressionStream('gzip'));
  return readProfile(
      new Uint8Array(await new Response(stream).arrayBuffer()));
}
