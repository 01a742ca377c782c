// What is written around the picture: heading, legend, details, tooltip and the
// table of functions. Text from the profile goes into text nodes only.

const TABLE_ROWS = 100;
const TABLE_NAME_CHARS = 200;  // more is not seen, and takes its time

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function descriptionNodes({name, rows}) {
  const list = element('dl');
  for (const [what, text] of rows) {
    list.append(element('div', {}, element('dt', {}, what),
                        element('dd', {}, text)));
  }
  return [element('strong', {}, name), list];
}

class Panel {
  constructor(app) {
    this.app = app;
    const ids = ['title', 'facts', 'legend', 'details', 'tooltip', 'table'];
    for (const id of ids) this[id] = document.getElementById(id);
    this.order = 'self';
    const {nodes, frames} = app.profile;
    const used = new Set(nodes.frame.subarray(1));
    this.kinds = new Set([...used].map((f) => frames[f].kind));
    this.hasInlined = nodes.inlined.includes(1);
  }

  writeHeading() {
    const {facts, isDifference} = this.app.profile;
    const title = facts.get('title') || 'unspool';
    this.title.textContent = title;
    document.title = title + ' · unspool';
    const whole = this.app.profile.sums;
    const time = (value) => formatValue(value, this.app.unit);
    const type = facts.get('type');
    const parts = [isDifference ?
        `${time(whole.before)} → ${time(whole.after)} ${type}, each as 100 %` :
        `${time(whole.after)} ${type}`];
    for (const key of ['samples', 'threads', 'duration', 'time']) {
      if (facts.has(key)) parts.push(facts.get(key));
    }
    this.facts.textContent = parts.join(' · ');
    for (const key of ['lost', 'truncated']) {
      if (!facts.has(key)) continue;
      this.facts.append(' · ', element('mark', {}, facts.get(key)));
    }
  }

  writeLegend() {
    const {profile, colors, tree} = this.app;
    const items = [];
    const item = (color, text, className = '') => {
      const swatch = element('span', {className: 'swatch ' + className});
      if (color) swatch.style.background = color;
      items.push(element('li', {}, swatch, text));
    };
    if (profile.isDifference) {
      const most = this.app.largestChange;
      item(colors.ofChange(most, most), 'grew (+)');
      item(colors.ofChange(-most, most), 'shrank (−)');
      item(colors.faint, 'as before');
    } else {
      const whole = tree.scale.after;
      for (const {module, self} of colors.modules.slice(0, 8)) {
        if (share(self, whole) < 0.0005) continue;
        item(colors.ofModule(module),
             `${module || 'no file'} ${formatShare(share(self, whole))}`);
      }
      const folded = share(colors.folded, whole);
      if (folded >= 0.0005) {
        item(colors.faint, '⋯ smaller frames ' + formatShare(folded));
      }
    }
    const {kinds} = this;
    if (this.hasInlined) item('', '↳ inlined', 'inlined');
    if (kinds.has(KIND.kernel)) item('', '◆ kernel', 'kernel');
    if (profile.groups.some((g) => g.guessed)) item('', '? guessed', 'guessed');
    if (kinds.has(KIND.truncated)) item('', '✂ cut short', 'striped');
    if (kinds.has(KIND.missing)) item('', '∅ stack unknown', 'striped');
    this.legend.replaceChildren(...items);
  }

  writeDetails(hit = null) {
    const {app} = this;
    const what = hit?.isRun ? this.describeRun(hit) :
        describe(app, hit?.node ?? app.state.focus);
    this.details.replaceChildren(...descriptionNodes(what));
  }

  describeRun({node, count}) {
    const {tree, profile} = this.app;
    let [before, after] = [0, 0];
    for (let i = node, k = 0; k < count; k++, i = tree.end[i]) {
      before += tree.before[i];
      after += tree.after[i];
    }
    const rows = [['together', formatAmount(this.app, after, 'after')],
                  ['to see them', 'click to zoom to their caller']];
    if (profile.isDifference) {
      rows[0] = ['after', rows[0][1]];
      rows.unshift(['before', formatAmount(this.app, before, 'before')]);
    }
    return {
      name: `${count.toLocaleString('en')} ` +
          (count === 1 ? 'frame' : 'frames') + ' too small to draw',
      rows,
    };
  }

  showTooltip(hit, x, y) {
    this.tooltip.hidden = hit === null;
    if (hit === null) return;
    const what = hit.isRun ? this.describeRun(hit) : describe(this.app, hit.node);
    this.tooltip.replaceChildren(...descriptionNodes(what));
    const box = this.tooltip.getBoundingClientRect();
    const left = Math.min(x + 14, innerWidth - box.width - 8);
    const below = y + 18 + box.height < innerHeight;
    this.tooltip.style.left = Math.max(4, left) + 'px';
    this.tooltip.style.top =
        Math.max(4, below ? y + 18 : y - box.height - 12) + 'px';
  }

  // Functions, the costliest or most changed first; those that match while
  // there is a search.
  writeTable() {
    const {app} = this;
    const {profile, search} = app;
    if (this.table.hidden) return;
    const suffix = profile.isDifference ? 'Change' : '';
    const weight = (row) => Math.abs(row[this.order + suffix]);
    const rows = app.table.filter(
        ({frame}) => !search.isActive || search.matches(frame));
    rows.sort((a, b) => weight(b) - weight(a));
    const head = element('tr', {}, element('th', {scope: 'col'}, 'Function'));
    for (const key of ['self', 'total']) {
      const button = element(
          'button', {type: 'button'},
          (key === 'self' ? 'Self' : 'Total') + (suffix && ' ±'));
      button.onclick = () => {
        this.order = key;
        this.writeTable();
      };
      const cell = element('th', {scope: 'col'}, button);
      if (key === this.order) cell.setAttribute('aria-sort', 'descending');
      head.append(cell);
    }
    const body = element('tbody');
    for (const row of rows.slice(0, TABLE_ROWS)) {
      body.append(this.tableRow(row, profile.isDifference ? weight(rows[0]) : 1));
    }
    this.table.replaceChildren(
        element('table', {}, element('thead', {}, head), body));
    if (rows.length > TABLE_ROWS) {
      this.table.append(element('p', {}, `and ${
          (rows.length - TABLE_ROWS).toLocaleString('en')} more: search for them`));
    }
  }

  // Bars are parts of `whole`: of all, or of the largest change.
  tableRow(row, whole) {
    const {app} = this;
    const {profile, colors} = app;
    const {name, module} = profile.frames[row.frame];
    const button = element('button', {type: 'button', title: name + '\n' + module},
                           shortName(name).slice(0, TABLE_NAME_CHARS));
    button.onclick = () => app.showCallers(row.frame);
    const made = element('tr', {}, element('td', {}, button));
    for (const key of ['self', 'total']) {
      const part = profile.isDifference ? row[key + 'Change'] :
          share(row[key], profile.scale.after);
      const cell = element('td', {}, profile.isDifference ?
          formatChange(part) : formatShare(part));
      cell.style.setProperty('--part', Math.min(1, share(Math.abs(part), whole)));
      cell.style.setProperty('--bar', profile.isDifference ?
          colors.ofChange(part, whole) : colors.ofModule(module));
      made.append(cell);
    }
    return made;
  }
}
