// Draws a chart of Vega-Lite as SVG. Runs once, after the charts' program: from here on no text becomes code.
'use strict';
for (const own of [function () {}, async function () {}, function* () {}, async function* () {}]) {
  delete Object.getPrototypeOf(own).constructor;
}
delete globalThis.Function;
delete globalThis.eval;
// Texts are as wide as the font says, in which they are set later.
const widths = new Map();
const widthOf = point => {
  if (!widths.has(point)) widths.set(point, advance(point));
  return widths.get(point);
};
vega.textMetrics.width = (item, text) => {
  const shown = text === null || text === undefined ? '' : String(text);
  const width = [...shown].reduce((sum, own) => sum + widthOf(own.codePointAt(0)), 0) * vega.textMetrics.height(item);
  // What is longer is cut before it is drawn.
  return item.limit > 0 ? Math.min(width, item.limit) : width;
};
globalThis.draw = text => {
  globalThis.drawn = globalThis.failed = undefined;
  errors.length = 0;
  (async () => {
    const { spec, config, rows } = JSON.parse(text);
    const runtime = vega.parse(vegaLite.compile(Object.assign({}, spec, { config })).spec, null, { ast: true });
    const view = new vega.View(runtime, { expr: vegaInterpreter.expressionInterpreter, renderer: 'none', logLevel: vega.Warn });
    if (rows) view.data('rows', rows);
    await view.runAsync();
    const svg = await view.toSVG();
    if (errors.length > 0) throw new Error(errors.join('; '));
    const [left, top] = view.origin();
    // What is drawn may reach beyond the size that was asked for: the fit is worked out before the labels of its ticks are known.
    const end = left + view.scenegraph().root.items[0].bounds.x2;
    return { svg: svg.toWellFormed(), left, top, end, width: view.signal('width'), height: view.signal('height') };
  })().then(
    own => { globalThis.drawn = JSON.stringify(own); },
    error => { globalThis.failed = String(error && error.message || error); },
  );
};
