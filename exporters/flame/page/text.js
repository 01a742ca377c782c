// Figures and names as text.

const TIME_UNITS = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
const SIZE_UNITS = [['GB', 2 ** 30], ['MB', 2 ** 20], ['kB', 2 ** 10], ['B', 1]];

// Three digits, in the largest unit that gives at least 1: "1.23 s".
function formatValue(value, unit) {
  const families = {nanoseconds: TIME_UNITS, bytes: SIZE_UNITS};
  const units = families[unit];
  if (units === undefined) {
    return value.toLocaleString('en') + (unit === 'count' ? '' : ' ' + unit);
  }
  const [name, size] =
      units.find((u) => Math.abs(value) >= u[1]) ?? units.at(-1);
  const amount = value / size;
  const digits = amount >= 100 || size === 1 ? 0 : amount >= 10 ? 1 : 2;
  return amount.toFixed(digits) + ' ' + name;
}

function formatShare(fraction) {
  const percent = fraction * 100;
  if (percent !== 0 && Math.abs(percent) < 0.01) return '<0.01 %';
  return percent.toFixed(Math.abs(percent) < 10 ? 2 : 1) + ' %';
}

// "+1.23 %", with a true minus; percentage points of two profiles' totals.
function formatChange(change) {
  const sign = change < 0 ? '−' : '+';
  return sign + formatShare(Math.abs(change));
}

// Ends of the bracket that begins at `from`, or -1.
function bracketEnd(name, from, open, close) {
  let level = 0;
  for (let i = from; i < name.length; i++) {
    if (name[i] === open) level++;
    // "->" closes nothing.
    if (name[i] === close && name[i - 1] !== '-' && --level === 0) return i;
  }
  return -1;
}

const OPERATOR = /operator(<=>|<<=?|<=?|>>=?|>=?|->\*?|\(\))/y;
const NAMED_SCOPE = /\((anonymous namespace|anonymous class)\)|\{lambda/y;

// A C++ or Rust name without parameters and template arguments, for where the
// whole does not fit: "std::vector<int>::at(int)" is "std::vector::at". Names
// of another form come back as they are.
function shortName(name) {
  let out = '';
  for (let i = 0; i < name.length; i++) {
    OPERATOR.lastIndex = NAMED_SCOPE.lastIndex = i;
    const kept = OPERATOR.exec(name) ?? NAMED_SCOPE.exec(name);
    if (kept !== null) {
      out += kept[0];
      i += kept[0].length - 1;
      continue;
    }
    const close = {'<': '>', '(': ')'}[name[i]];
    if (close === undefined || i === 0) {
      out += name[i];
      continue;
    }
    const end = bracketEnd(name, i, name[i], close);
    if (end < 0) return name;
    i = end;
  }
  // What stood before was the return type of a template; what stands behind,
  // qualifiers.
  out = out.replace(/ (const|&|&&|\[clone .*\])$/, '').trim();
  const type = /^[^ (]+ (?=[^ ]*::)/.exec(out);
  return type === null ? out : out.slice(type[0].length);
}

// What a name may be written as, the longest first: a narrow frame of
// "module+0x1234" shows the address, of a method its own name.
function nameForms(name) {
  const unnamed = /\+0x[0-9a-f]+$/.exec(name);
  if (unnamed !== null) return [name, unnamed[0]];
  const short = shortName(name);
  const scope = short.lastIndexOf('::', short.length - 3);
  return scope < 0 ? [name, short] : [name, short, short.slice(scope + 2)];
}

// A sign before the name, for what colour alone must not say.
const KIND_SIGNS = ['', '◆ ', '✂ ', '∅ ', '⋯ '];

class Names {
  constructor(profile) {
    this.profile = profile;
    this.forms = new Map();
  }

  of(tree, node) {
    if (node === 0 && tree.depth[0] === 0 && !tree.isInverted) return 'all';
    const frame = this.profile.frames[tree.frame[node]];
    if (frame.kind !== KIND.folded) return frame.name;
    const count = tree.place[node];
    return `${count.toLocaleString('en')} smaller ` +
        (count === 1 ? 'frame' : 'frames');
  }

  // The longest form that has room, or the beginning of the shortest.
  fitted(tree, node, room) {
    const name = this.of(tree, node);
    if (name.length <= room) return name;
    if (!this.forms.has(name)) this.forms.set(name, nameForms(name));
    const forms = this.forms.get(name);
    return forms.find((form) => form.length <= room) ??
        forms.at(-1).slice(0, Math.max(room - 1, 0)) + '…';
  }

  sign(tree, node) {
    const {kind} = this.profile.frames[tree.frame[node]];
    if (node === 0 && !tree.isInverted) return '';
    return KIND_SIGNS[kind] + (tree.inlined[node] ? '↳ ' : '') +
        (isGuessed(tree, node) ? '? ' : '');
  }
}

// More than half of its weight comes from stacks that were guessed in part.
function isGuessed(tree, node) {
  const whole = tree.after[node] + tree.before[node];
  return tree.guessed[node] * 2 > whole;
}

// A longer one would push the figures out of sight.
const LONG_NAME_CHARS = 160;

// Everything there is to say about a node: its name and rows of [what, text].
function describe(app, node) {
  const {profile, tree, names} = app;
  const frame = profile.frames[tree.frame[node]];
  const place = profile.places[tree.place[node]];
  const isRoot = node === 0 && !tree.isInverted;
  const rows = [];
  const amount = (values, side) => formatAmount(app, values[node], side);
  if (profile.isDifference) {
    rows.push(['before', amount(tree.before, 'before')]);
    rows.push(['after', amount(tree.after, 'after')]);
    rows.push(['change', formatChange(changeOf(tree, node))]);
    if (!tree.isInverted) {
      rows.push(['self change', formatChange(selfChangeOf(tree, node))]);
    }
  } else {
    rows.push([tree.isInverted ? 'through here' : 'total',
               amount(tree.after, 'after')]);
    if (!tree.isInverted) rows.push(['self', amount(tree.selfAfter, 'after')]);
  }
  if (node !== 0) {
    rows.push(['of its ' + (tree.isInverted ? 'callee' : 'caller'), formatShare(
        share(tree.total[node], tree.total[tree.parent[node]]))]);
  }
  if (!isRoot && frame.kind !== KIND.folded) {
    if (place?.file) {
      rows.push(['at', place.file + (place.line > 0 ? ':' + place.line : '')]);
    }
    if (frame.module) rows.push(['module', frame.module]);
  }
  if (!isRoot) rows.push(...describeSigns(tree, node, frame));
  const name = names.of(tree, node);
  if (name.length <= LONG_NAME_CHARS) return {name, rows};
  return {name: shortName(name), rows: [...rows, ['in full', name]]};
}

const KIND_TEXTS = [
  '', 'kernel', 'stack cut short: callers missing',
  'time whose stack is not known',
  'too small to be told apart in this file; the sum is exact',
];

function describeSigns(tree, node, frame) {
  const rows = [];
  if (frame.kind !== KIND.code) rows.push(['kind', KIND_TEXTS[frame.kind]]);
  if (tree.inlined[node]) rows.push(['inlined', 'into its caller']);
  if (tree.guessed[node] > 0) {
    rows.push(['guessed', formatShare(share(
        tree.guessed[node], tree.after[node] + tree.before[node])) +
        ' of it: stacks without unwind information']);
  }
  return rows;
}

// A value of one side ("before", "after") as it was recorded, and its share.
function formatAmount({profile, unit}, value, side) {
  const part = share(value, profile.scale[side]);
  const recorded = profile.isDifference ?
      Math.round(part * profile.sums[side]) : value;
  return `${formatValue(recorded, unit)} (${formatShare(part)})`;
}

// Share of the second profile less that of the first.
function changeOf(tree, node) {
  return share(tree.after[node], tree.scale.after) -
      share(tree.before[node], tree.scale.before);
}

function selfChangeOf(tree, node) {
  return share(tree.selfAfter[node], tree.scale.after) -
      share(tree.selfBefore[node], tree.scale.before);
}
