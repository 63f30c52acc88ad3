// Draws the charts of a page, and lets tables be sorted, searched, copied and saved. Nothing is fetched, and no text is evaluated as code:
// whatever comes from data is set as text.
(function () {
  'use strict';
  const root = document.documentElement;
  const drawings = JSON.parse(document.getElementById('drawings').textContent);
  const systemIsDark = matchMedia('(prefers-color-scheme: dark)');
  const colour = name => getComputedStyle(root).getPropertyValue('--' + name).trim();
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : systemIsDark.matches);

  function element(name, properties, ...children) {
    const own = Object.assign(document.createElement(name), properties || {});
    own.append(...children);
    return own;
  }

  // ---- What is under the pointer, as text.
  const tip = element('div', { className: 'tip', hidden: true });
  document.body.append(tip);
  function showTip(event, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + 'px';
  }
  const asText = value =>
    value === null || value === undefined || value === '' ? '' :
    typeof value === 'object' ? Object.entries(value).map(([key, own]) => key + ': ' + own).join('\n') : String(value);

  // ---- Charts of Vega-Lite.
  function config() {
    const text = colour('text'), quiet = colour('quiet'), line = colour('line');
    const categories = [1, 2, 3, 4, 5, 6, 7].map(place => colour('category-' + place));
    return {
      background: null,
      font: 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
      autosize: { type: 'fit-x', contains: 'padding' },
      view: { stroke: null },
      mark: { color: categories[0] },
      rule: { color: categories[0] },
      axis: { labelColor: text, titleColor: quiet, gridColor: line, domainColor: quiet, tickColor: quiet, labelLimit: 140, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal' },
      // Few numbers below wide charts, and fewer on a phone.
      axisXQuantitative: { tickCount: root.clientWidth < 700 ? 5 : 9 },
      legend: { labelColor: text, titleColor: quiet, labelFontSize: 12, titleFontSize: 12 },
      range: { category: categories },
    };
  }
  function compiled(spec, description) {
    const own = Object.assign({}, spec, { config: config(), description });
    return vega.parse(vegaLite.compile(own).spec, null, { ast: true });
  }
  async function show(runtime, place, bindings, rows) {
    const view = new vega.View(runtime, {
      expr: vegaInterpreter.expressionInterpreter,
      renderer: 'svg',
      container: place,
      bind: bindings,
      hover: true,
      logLevel: vega.Warn,
    });
    view.tooltip((handler, event, item, value) => showTip(event, asText(value)));
    if (rows) view.data('rows', rows);
    await view.runAsync();
    return view;
  }

  // ---- Colours of heat maps: bands from light to dark, or from one colour over the ground to another.
  const SEQUENTIAL = { light: ['fdfdf0', 'edf8b1', 'c7e9b4', '7fcdbb', '41b6c4', '1d91c0', '225ea8', '253494', '081d58'], dark: ['1b1030', '482878', '3e4989', '31688e', '26828e', '1f9e89', '35b779', '6ece58', 'b5de2b', 'fde725'] };
  const DIVERGING = { light: ['7f3b08', 'b35806', 'e08214', 'fdb863', 'f7f7f7', '92c5de', '4393c3', '2166ac', '053061'], dark: ['ffb86b', 'e08214', 'a65a10', '5e3a18', '22262b', '1d4566', '2f78ad', '5cb0e6', 'a8dcff'] };
  const parts = text => [0, 2, 4].map(place => parseInt(text.slice(place, place + 2), 16));
  function scale(low, size) {
    const stops = (low < 0 ? DIVERGING : SEQUENTIAL)[isDark() ? 'dark' : 'light'].map(parts);
    const share = value => (size > 0 ? (low < 0 ? (value + size) / (2 * size) : value / size) : 0);
    return value => {
      if (value === null) return [128, 128, 128];
      const at = Math.max(0, Math.min(1, share(value))) * (stops.length - 1);
      const from = Math.min(Math.floor(at), stops.length - 2);
      return stops[from].map((own, place) => Math.round(own + (stops[from + 1][place] - own) * (at - from)));
    };
  }
  function bytes(text) {
    const raw = atob(text);
    return Uint8Array.from(raw, own => own.charCodeAt(0));
  }
  const rounded = value => (value === null ? 'none' : Number(value.toPrecision(4)).toString());

  function heat(drawing, place, name) {
    const { rows, columns, low, high, full, unit } = drawing;
    // Numbers of single precision, in units of the value from which on colours do not change.
    const numbers = new DataView(bytes(drawing.values).buffer);
    const value = (row, column) => {
      const own = numbers.getFloat32(4 * (row * columns.length + column), true);
      return Number.isNaN(own) ? null : unit * own;
    };
    const colours = scale(low, full);
    const font = '12px system-ui, sans-serif';
    const canvas = element('canvas', { className: 'heat' });
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', name + ': ' + rows.length + ' rows, ' + columns.length + ' columns; the table below has the largest entries');
    place.append(canvas);
    const context = canvas.getContext('2d');
    context.font = font;
    const total = place.clientWidth;
    const cellHeight = Math.max(rows.length > 60 ? 5 : 14, Math.min(26, Math.floor(360 / rows.length)));
    const fitted = (text, most) => {
      if (context.measureText(text).width <= most) return text;
      while (text && context.measureText(text + '…').width > most) text = text.slice(0, -1);
      return text + '…';
    };
    const showsRows = cellHeight >= 12;
    const longest = list => Math.max(0, ...list.map(own => context.measureText(own).width));
    const left = showsRows ? Math.min(total / 3, 150, longest(rows) + 8) : 4;
    const cellWidth = (total - left - 4) / columns.length;
    const showsColumns = cellWidth >= 13;
    const below = showsColumns ? Math.min(110, longest(columns) + 8) : 4;
    const width = total, height = rows.length * cellHeight + below;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + 'px';
    canvas.style.width = width + 'px';
    context.scale(ratio, ratio);
    const pixels = Math.max(1, Math.round((total - left - 4) * ratio));
    const image = context.createImageData(pixels, rows.length);
    for (let row = 0; row < rows.length; row++) {
      for (let pixel = 0; pixel < pixels; pixel++) {
        // Of several columns in one pixel the largest in size is shown.
        const from = Math.floor(pixel * columns.length / pixels);
        const to = Math.max(from + 1, Math.floor((pixel + 1) * columns.length / pixels));
        let best = value(row, from);
        for (let column = from + 1; column < to; column++) {
          const own = value(row, column);
          if (best === null || own !== null && Math.abs(own) > Math.abs(best)) best = own;
        }
        const at = 4 * (row * pixels + pixel);
        image.data.set(colours(best), at);
        image.data[at + 3] = 255;
      }
    }
    const buffer = element('canvas', { width: pixels, height: rows.length });
    buffer.getContext('2d').putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(buffer, left, 0, total - left - 4, rows.length * cellHeight);
    context.font = font;
    context.fillStyle = colour('text');
    context.textBaseline = 'middle';
    if (showsRows) {
      context.textAlign = 'right';
      rows.forEach((own, row) => context.fillText(fitted(own, left - 8), left - 5, (row + 0.5) * cellHeight));
    }
    if (showsColumns) {
      context.textAlign = 'right';
      columns.forEach((own, column) => {
        context.save();
        context.translate(left + (column + 0.5) * cellWidth, rows.length * cellHeight + 5);
        context.rotate(-Math.PI / 2);
        context.fillText(fitted(own, below - 8), 0, 0);
        context.restore();
      });
    }
    canvas.addEventListener('pointermove', event => {
      const box = canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left - left) / cellWidth);
      const row = Math.floor((event.clientY - box.top) / cellHeight);
      const inside = row >= 0 && row < rows.length && column >= 0 && column < columns.length;
      showTip(event, inside ? drawing.rowAxis + ' ' + rows[row] + '\n' + drawing.columnAxis + ' ' + columns[column] + '\n' + rounded(value(row, column)) : '');
    });
    canvas.addEventListener('pointerleave', event => showTip(event, ''));
    const strip = element('canvas', { width: 100, height: 1 });
    strip.setAttribute('aria-hidden', 'true');
    const own = strip.getContext('2d'), least = low < 0 ? -full : 0, most = full;
    for (let at = 0; at < 100; at++) {
      own.fillStyle = 'rgb(' + colours(least + (most - least) * at / 99).join(',') + ')';
      own.fillRect(at, 0, 1, 1);
    }
    const [start, end] = [low < least ? ' and less' : '', high > most ? ' and more' : ''];
    place.append(element('div', { className: 'key' }, rounded(least) + start, strip, rounded(most) + end));
    return canvas;
  }

  function pictures(drawing, place) {
    const grid = element('div', { className: 'grid pictures' });
    place.append(grid);
    let first = null;
    for (const item of drawing.items) {
      const canvas = element('canvas', { width: drawing.width, height: drawing.height });
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', 'picture of ' + item.name);
      const context = canvas.getContext('2d');
      const image = context.createImageData(drawing.width, drawing.height);
      bytes(item.pixels).forEach((own, pixel) => image.data.set([own, own, own, 255], 4 * pixel));
      context.putImageData(image, 0, 0);
      grid.append(element('div', {}, element('h4', { textContent: item.name }), canvas));
      first = first || canvas;
    }
    return first;
  }

  // ---- Saving.
  function save(name, address) {
    const link = element('a', { download: name, href: address });
    document.body.append(link);
    link.click();
    link.remove();
  }
  const saveText = (name, type, text) => {
    const address = URL.createObjectURL(new Blob([text], { type }));
    save(name, address);
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  function csv(table) {
    const cell = own => (/[",\n\r]/.test(own) ? '"' + own.replace(/"/g, '""') + '"' : own);
    return [...table.rows].map(row => [...row.cells].map(own => cell(own.textContent)).join(',')).join('\n') + '\n';
  }
  function button(text, act) {
    const own = element('button', { type: 'button', textContent: text });
    own.addEventListener('click', () => act(own));
    return own;
  }

  // ---- One figure.
  async function draw(place) {
    const drawing = drawings[Number(place.dataset.chart)];
    const figure = place.closest('figure');
    const name = figure.querySelector('h3').textContent;
    // What is drawn anew keeps its height, so that nothing jumps.
    place.style.minHeight = place.offsetHeight + 'px';
    if (figure.drawn) figure.drawn.views.forEach(view => view.finalize());
    place.textContent = '';
    const state = { views: [], canvas: null };
    if (drawing.kind === 'vega') {
      const bindings = element('div', { className: 'vega-bindings' }), box = element('div', { className: 'view' });
      place.append(bindings, box);
      state.views.push(await show(compiled(drawing.spec, name), box, bindings));
    } else if (drawing.kind === 'small') {
      const grid = element('div', { className: 'grid ' + drawing.width });
      place.append(grid);
      const runtime = compiled(drawing.template, name);
      for (const item of drawing.items) {
        const box = element('div', { className: 'view' });
        grid.append(element('div', {}, element('h4', { textContent: item.name }), box));
        // A copy: Vega adds to the rows that it is given.
        state.views.push(await show(runtime, box, null, item.rows.map(row => Object.assign({}, row))));
      }
    } else if (drawing.kind === 'heat') {
      state.canvas = heat(drawing, place, name);
    } else if (drawing.kind === 'pictures') {
      state.canvas = pictures(drawing, place);
    }
    figure.drawn = state;
    place.style.minHeight = '';
    place.dataset.drawn = 'yes';
  }
  function actions(figure) {
    const file = figure.dataset.name;
    const table = figure.querySelector('table');
    const bar = element('div', { className: 'actions' });
    bar.append(
      button('Copy table', async own => {
        await navigator.clipboard.writeText(csv(table));
        own.textContent = 'Copied';
      }),
      button('Save CSV', () => saveText(file + '.csv', 'text/csv', csv(table))),
      button('Save SVG or PNG', async () => {
        const { views, canvas } = figure.drawn;
        for (const [place, view] of views.entries()) {
          const own = views.length > 1 ? file + '-' + (place + 1) : file;
          saveText(own + '.svg', 'image/svg+xml', await view.toSVG());
        }
        if (canvas) save(file + '.png', canvas.toDataURL('image/png'));
      }),
    );
    bar.querySelectorAll('button').forEach(own => own.setAttribute('aria-label', own.textContent + ': ' + figure.querySelector('h3').textContent));
    figure.append(bar);
  }

  // ---- Tables: a click on the head of a column sorts by it.
  function sortable(table) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const own = button(head.textContent, () => {
        const down = head.getAttribute('aria-sort') !== 'descending';
        [...head.parentNode.cells].forEach(other => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const text = row => row.cells[column].textContent;
        const compare = (one, other) => {
          const [a, b] = [text(one), text(other)], difference = Number(a.replaceAll(',', '')) - Number(b.replaceAll(',', ''));
          return Number.isNaN(difference) ? a.localeCompare(b) : difference;
        };
        body.append(...[...body.rows].sort((one, other) => (down ? -compare(one, other) : compare(one, other))));
      });
      head.textContent = '';
      head.append(own);
    });
  }

  // ---- Search for a word, a user, a gene in all tables.
  function search(text) {
    const hits = document.getElementById('hits');
    hits.textContent = '';
    document.querySelectorAll('.hit').forEach(row => row.classList.remove('hit'));
    const wanted = text.trim().toLowerCase();
    if (wanted.length < 2) return;
    let found = 0;
    const list = element('ul');
    for (const figure of document.querySelectorAll('figure')) {
      const rows = [...figure.querySelectorAll('tbody tr')].filter(row => row.textContent.toLowerCase().includes(wanted));
      rows.forEach(row => row.classList.add('hit'));
      if (!rows.length) continue;
      found += rows.length;
      const link = element('a', { href: '#' + figure.id, textContent: figure.querySelector('h3').textContent + ': ' + rows.length });
      link.addEventListener('click', () => { figure.querySelector('details.data').open = true; });
      list.append(element('li', {}, link));
    }
    hits.append(element('p', { textContent: found + (found === 1 ? ' row' : ' rows') + ' with “' + text.trim() + '”' }), list);
  }

  async function drawAll() {
    for (const place of document.querySelectorAll('.chart')) await draw(place);
    root.dataset.drawn = 'yes';
  }
  // One drawing at a time: a second request waits for the first.
  let last = Promise.resolve();
  const again = () => { last = last.then(drawAll); };

  function prepare(within) {
    within.querySelectorAll('details.data').forEach(own => { own.open = false; });
    within.querySelectorAll('figure').forEach(actions);
    within.querySelectorAll('table').forEach(sortable);
  }

  // ---- A fit that is running: its state is asked for again and again, and what has changed is drawn anew.
  async function renew(region, { html, drawings: own }) {
    const fresh = new DOMParser().parseFromString(html, 'text/html').body;
    const outline = within => [...within.querySelectorAll('h2, h3')].map(title => title.textContent).join('\n');
    const changed = Object.keys(own).filter(key => JSON.stringify(own[key]) !== JSON.stringify(drawings[key]));
    Object.assign(drawings, own);
    if (outline(fresh) !== outline(region)) {
      region.replaceChildren(...fresh.childNodes);
      prepare(region);
      for (const place of region.querySelectorAll('.chart')) await draw(place);
      return;
    }
    // The same charts: texts and tables are exchanged, so that what is open stays open.
    for (const selector of ['.found', '.note', '.more', 'figcaption p', 'tbody']) {
      const [before, now] = [region, fresh].map(within => [...within.querySelectorAll(selector)]);
      if (before.length === now.length) before.forEach((place, at) => place.replaceChildren(...now[at].childNodes));
    }
    region.querySelectorAll('[aria-sort]').forEach(head => head.removeAttribute('aria-sort'));
    for (const key of changed) {
      const place = region.querySelector('[data-chart="' + key + '"]');
      if (place) await draw(place);
    }
  }
  async function watch(version) {
    const said = document.getElementById('live'), pause = document.getElementById('pause');
    const page = Math.random().toString(36).slice(2, 14);
    let failures = 0, paused = false;
    pause.addEventListener('click', () => {
      paused = !paused;
      pause.setAttribute('aria-pressed', String(paused));
      said.textContent = paused ? 'The page is paused.' : 'The page follows the fit.';
    });
    for (let turn = 0; ; turn++) {
      await new Promise(done => setTimeout(done, 1000));
      // Who looks elsewhere is served now and then.
      if (paused || document.hidden && turn % 4) continue;
      let state = null;
      try {
        const answer = await fetch('data?page=' + page + '&latents=' + version, { cache: 'no-store' });
        if (answer.ok) state = await answer.json();
      } catch (error) {
        state = null;
      }
      if (!state) {
        failures += 1;
        if (failures < 4) continue;
        said.textContent = 'The fit does not answer any more: it has ended, or was stopped. The page shows what it last knew.';
        break;
      }
      failures = 0;
      last = last.then(async () => {
        await renew(document.getElementById('live-state'), state.state);
        if (state.latents) {
          await renew(document.getElementById('live-latents'), state.latents);
          version = state.latents.version;
        }
      });
      await last;
      root.dataset.turn = String(turn);
      if (state.ended) {
        said.textContent = state.ended;
        break;
      }
    }
    root.dataset.watch = 'ended';
    pause.hidden = true;
  }

  prepare(document);
  document.querySelector('.tools').hidden = false;
  document.getElementById('theme').addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    again();
  });
  document.getElementById('search').addEventListener('input', event => search(event.target.value));
  systemIsDark.addEventListener('change', again);
  let width = innerWidth, timer = 0;
  addEventListener('resize', () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; again(); } }, 200);
  });
  again();
  if (root.dataset.watch) watch(root.dataset.watch);
})();
