// Mouse, touch, keys and buttons.

function connectInput(app) {
  connectMouse(app);
  connectButtons(app);
  addEventListener('popstate', ({state}) => {
    if (state !== null) app.apply(state);
  });
  addEventListener('keydown', (event) => onKey(app, event));
  matchMedia('(prefers-color-scheme: dark)').addEventListener(
      'change', ({matches}) => app.setTheme(matches));
}

function connectMouse(app) {
  const graph = byId('graph');
  const hitAt = (event) => {
    const box = graph.getBoundingClientRect();
    return app.canvas.hit(event.clientX - box.left, event.clientY - box.top);
  };
  graph.addEventListener('pointermove', (event) => {
    if (event.pointerType !== 'mouse') return;
    const hit = hitAt(event);
    app.panel.showTooltip(hit, event.clientX, event.clientY);
    graph.style.cursor = hit === null ? '' : 'pointer';
  });
  graph.addEventListener('pointerleave', () => app.panel.showTooltip(null));
  graph.addEventListener('scroll', () => {
    app.panel.showTooltip(null);
    app.canvas.draw();
  });
  graph.addEventListener('click', (event) => {
    const hit = hitAt(event);
    app.hasKeyboard = false;
    app.panel.showTooltip(null);
    if (hit === null || event.detail > 1) return;
    app.zoom(hit.isRun ? app.tree.parent[hit.node] : hit.node);
  });
  // The first click of the two has zoomed to the frame and focused it.
  graph.addEventListener('dblclick', () => app.showFocusedCallers());
}

function connectButtons(app) {
  const search = byId('search');
  search.addEventListener('input', () => app.setSearch(search.value));
  search.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') app.nextMatch(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape' && search.value !== '') {
      search.value = '';
      app.setSearch('');
      event.stopPropagation();
    }
  });
  byId('thread').addEventListener('change', (event) => app.go(
      {thread: Number(event.target.value), zoom: 0, focus: 0}));
  byId('samples').addEventListener('change', (event) => app.go(
      {samples: event.target.value, zoom: 0, focus: 0}));
  const actions = {
    back: () => app.back(),
    reset: () => app.reset(),
    flame: () => app.setFlame(true),
    icicle: () => app.setFlame(false),
    callers: () => app.showFocusedCallers(),
    functions: () => app.toggleTable(),
    theme: () => app.setTheme(!app.colors.isDark),
    help: () => byId('keys').showModal(),
  };
  for (const [id, action] of Object.entries(actions)) {
    byId(id).addEventListener('click', action);
  }
}

// Keys that work wherever the focus is, but in a field of text.
const GLOBAL_KEYS = {
  '0': (app) => app.reset(),
  '/': () => byId('search').focus(),
  '?': () => byId('keys').showModal(),
  c: (app) => app.showFocusedCallers(),
  f: (app) => app.toggleTable(),
  i: (app) => app.setFlame(!app.isFlame),
  n: (app) => app.nextMatch(1),
  N: (app) => app.nextMatch(-1),
  t: (app) => app.setTheme(!app.colors.isDark),
  Escape: (app) => app.back(),
};

// Keys of the picture itself.
const GRAPH_KEYS = {
  ArrowUp: (app) => app.focus(vertical(app, app.isFlame)),
  ArrowDown: (app) => app.focus(vertical(app, !app.isFlame)),
  ArrowLeft: (app) => app.focus(sideways(app, -1)),
  ArrowRight: (app) => app.focus(sideways(app, 1)),
  Home: (app) => app.focus(0),
  End: (app) => app.focus(hottestLeaf(app)),
  Enter: (app) => app.zoom(app.state.focus),
  ' ': (app) => app.zoom(app.state.focus),
};

function onKey(app, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (byId('keys').open) return;
  const {target} = event;
  const isField = target.matches('input, select');
  if (isField && !(event.key === 'Escape')) return;
  const inGraph = target.id === 'graph' || target === document.body;
  const action = (inGraph && GRAPH_KEYS[event.key]) || GLOBAL_KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  app.hasKeyboard = true;
  if (inGraph) byId('graph').focus({preventScroll: true});
  app.panel.showTooltip(null);
  action(app);
}

// The heaviest frame that the focused one calls, or its caller.
function vertical({tree, state}, toChild) {
  const {focus} = state;
  if (!toChild) return tree.parent[focus];
  return focus + 1 < tree.end[focus] ? focus + 1 : focus;
}

// The next frame in the same row that can be seen.
function sideways({tree, state, canvas}, step) {
  const depth = tree.depth[state.focus];
  for (let i = state.focus + step; i >= 0 && i < tree.count; i += step) {
    if (tree.depth[i] !== depth) continue;
    const right = canvas.x(tree.start[i] + tree.total[i]);
    const left = canvas.x(tree.start[i]);
    if (right <= 0 || left >= canvas.width) break;
    if (right - left >= MIN_WIDTH_PX) return i;
  }
  return state.focus;
}

function hottestLeaf({tree, state}) {
  let leaf = state.focus;
  while (leaf + 1 < tree.end[leaf]) leaf++;
  return leaf;
}

loadProfile(byId('data')).then((profile) => new App(profile).start());
