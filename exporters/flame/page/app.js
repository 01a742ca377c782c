// The state, and what changes it: mouse, keys, buttons and the browser's
// history. Where one looks (threads, running or waiting, function, zoom) is an
// entry of the history; how it looks (direction, light or dark, search) is not.

const byId = (id) => document.getElementById(id);

class App {
  constructor(profile) {
    this.profile = profile;
    this.unit = profile.facts.get('unit') ?? '';
    profile.scale = scaleOf(profile);
    profile.sums = sumsOf(profile);
    profile.threadFrames = profile.threads.map((thread) => profile.frames.push(
        {name: thread || '(no thread)', module: '', kind: KIND.code,
         isThread: true}) - 1);
    this.names = new Names(profile);
    this.search = new Search(profile);
    this.state = {thread: ALL_THREADS, samples: ALL_STATES, callersOf: -1,
                  zoom: 0, focus: 0, depth: 0};
    this.isFlame = false;
    this.hasKeyboard = false;  // the ring shows once keys are used
    this.makeTree();
    this.colors = new Colors(profile, this.table);
    this.canvas = new Canvas(this);
    this.spoken = new Spoken(this);
    this.panel = new Panel(this);
  }

  start() {
    history.replaceState(this.state, '');
    this.fillThreads();
    this.panel.writeHeading();
    this.setTheme(matchMedia('(prefers-color-scheme: dark)').matches);
    new ResizeObserver(() => this.resize()).observe(byId('graph'));
    connectInput(this);
    this.showAll(true);
    document.documentElement.dataset.ready = 'yes';
  }

  // ---- what is shown

  makeTree() {
    const {profile, state} = this;
    if (this.calls?.thread !== state.thread ||
        this.calls.samples !== state.samples) {
      this.calls = callTree(profile, state.thread, state.samples);
      this.calls.thread = state.thread;
      this.calls.samples = state.samples;
      this.table = functionTable(profile, this.calls);
    }
    const callers = state.callersOf < 0 ? null :
        callerTree(profile, this.calls, state.callersOf);
    if (callers === null) state.callersOf = -1;
    this.tree = callers ?? this.calls;
    this.tree.isInverted = callers !== null;
    this.largestChange = LEAST_STRONG_CHANGE;
    if (!profile.isDifference) return;
    for (let i = 0; i < this.tree.count; i++) {
      this.largestChange = Math.max(this.largestChange,
                                    Math.abs(changeOf(this.tree, i)));
    }
  }

  // Goes somewhere, as an entry of the history.
  go(change) {
    const state = {...this.state, ...change, depth: this.state.depth + 1};
    history.pushState(state, '');
    this.apply(state);
  }

  apply(state) {
    const other = state.thread !== this.state.thread ||
        state.samples !== this.state.samples ||
        state.callersOf !== this.state.callersOf;
    this.state = {...state};
    if (other) this.makeTree();
    this.state.zoom = Math.min(this.state.zoom, this.tree.count - 1);
    this.state.focus = Math.min(this.state.focus, this.tree.count - 1);
    this.showAll(other);
  }

  showAll(atOnce) {
    const {state, tree} = this;
    this.canvas.setExtent();
    this.canvas.scrollTo(state.zoom);
    if (state.zoom === 0) byId('graph').scrollTop = this.isFlame ? 1e9 : 0;
    this.canvas.show(state.zoom, atOnce);
    byId('thread').value = state.thread;
    byId('samples').value = state.samples;
    byId('back').disabled = state.depth === 0;
    byId('inverted').hidden = !tree.isInverted;
    if (tree.isInverted) {
      byId('inverted').textContent =
          'Callers of ' + shortName(this.profile.frames[state.callersOf].name);
    }
    for (const id of ['flame', 'icicle']) {
      byId(id).setAttribute('aria-pressed', (id === 'flame') === this.isFlame);
    }
    this.panel.writeLegend();
    this.panel.writeTable();
    this.showFocus();
    this.showMatched();
  }

  showFocus() {
    this.spoken.update();
    this.panel.writeDetails();
    this.canvas.draw();
  }

  showMatched() {
    const {search, tree, state} = this;
    let text = '';
    if (search.isBad) {
      text = 'not a regular expression';
    } else if (search.isActive) {
      const {frames, weight, before, after} = search.sum(tree, state.zoom);
      const part = (value, whole) => formatShare(share(value, whole));
      text = this.profile.isDifference ?
          part(before, tree.before[state.zoom]) + ' → ' +
              part(after, tree.after[state.zoom]) :
          part(weight, tree.total[state.zoom]);
      text += ' matched';
      this.spoken.say(`${text}, ${frames} frames`);
    }
    byId('matched').textContent = text;
  }

  resize() {
    this.canvas.measure();
    if (this.state.zoom === 0 && this.isFlame) byId('graph').scrollTop = 1e9;
    this.canvas.paint();
  }

  // ---- what can be done

  focus(node) {
    this.state.focus = node;
    this.canvas.scrollTo(node);
    this.showFocus();
  }

  // A second time on the same frame leads out again.
  zoom(node) {
    const zoom = node === this.state.zoom ? this.tree.parent[node] : node;
    if (zoom === this.state.zoom) return;
    this.go({zoom, focus: node});
    this.spoken.say('zoomed to ' + this.names.of(this.tree, zoom));
  }

  back() {
    if (this.state.depth > 0) history.back();
  }

  reset() {
    byId('search').value = '';
    this.setSearch('');
    const {thread, samples, callersOf, zoom} = this.state;
    if (thread === ALL_THREADS && samples === ALL_STATES && callersOf < 0 &&
        zoom === 0) {
      return;
    }
    this.go({thread: ALL_THREADS, samples: ALL_STATES, callersOf: -1, zoom: 0,
             focus: 0});
  }

  showCallers(frame) {
    const {kind, isThread} = this.profile.frames[frame];
    if (kind === KIND.folded || isThread) return;
    this.go({callersOf: frame, zoom: 0, focus: 0});
    this.spoken.say('callers of ' + this.profile.frames[frame].name);
  }

  showFocusedCallers() {
    const {tree, state} = this;
    if (state.focus > 0 || tree.isInverted) {
      this.showCallers(tree.frame[state.focus]);
    } else {
      this.spoken.say('focus a function first');
    }
  }

  setSearch(query) {
    this.search.set(query);
    this.showMatched();
    this.panel.writeTable();
    this.canvas.draw();
  }

  nextMatch(step) {
    const node = this.search.next(this.tree, this.state.focus, step);
    if (node < 0) return;
    const {zoom} = this.state;
    const isInside = node >= zoom && node < this.tree.end[zoom];
    if (!isInside) this.go({zoom: 0, focus: node});
    this.hasKeyboard = true;
    this.focus(node);
  }

  setFlame(isFlame) {
    this.isFlame = isFlame;
    this.showAll(true);
  }

  setTheme(isDark) {
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
    this.colors.setTheme(isDark);
    this.panel.writeLegend();
    this.panel.writeTable();
    this.canvas.draw();
  }

  toggleTable() {
    const {table} = this.panel;
    table.hidden = !table.hidden;
    byId('functions').setAttribute('aria-pressed', !table.hidden);
    this.panel.writeTable();
  }

  fillThreads() {
    const {threads, groups} = this.profile;
    byId('thread-choice').hidden = threads.length < 2;
    byId('samples-choice').hidden = !groups.some((group) => group.waiting);
    const select = byId('thread');
    const add = (value, text) => select.append(element('option', {value}, text));
    add(ALL_THREADS, 'All as one');
    add(EACH_THREAD, 'Each apart');
    const weights = valuesByThread(this.profile, ALL_STATES).map((rows) => rows.reduce(
        (sum, v) => sum + this.profile.nodes.values.value[v], 0));
    const amount = (i) => this.profile.isDifference ?
        '' : '  ' + formatValue(weights[i], this.unit);
    threads.map((text, i) => ({text, i}))
        .sort((a, b) => weights[b.i] - weights[a.i])
        .forEach(({text, i}) => add(i, (text || '(no thread)') + amount(i)));
  }
}
