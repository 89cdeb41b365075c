// Begins an episode: a seed, no animations, no time-out, no reward on the screen. Returns the goal in words.
async ([seed, episode_ms, style]) => {
  // Icons that come with a style sheet have no size before they are loaded.
  const pictures = new Set();
  for (const sheet of document.querySelectorAll('style')) {
    for (const found of sheet.textContent.matchAll(/url\(['"]?([^'")]+)/g)) pictures.add(found[1]);
  }
  window.__pictures = Array.from(pictures, (source) => Object.assign(new Image(), { src: source }));
  await Promise.all(window.__pictures.map((picture) => picture.decode().catch(() => null)));
  if (!document.getElementById('__foretell')) {
    const sheet = document.createElement('style');
    sheet.id = '__foretell';
    sheet.textContent = style;
    document.head.appendChild(sheet);
  }
  window.__last = new WeakMap();
  for (const name of ['click', 'input', 'copy']) {
    document.addEventListener(name, (event) => { window.__last.set(event.target, name); }, true);
  }
  if (window.jQuery) window.jQuery.fx.off = true;
  core.EPISODE_MAX_TIME = episode_ms;
  Math.seedrandom(seed);
  core.startEpisodeReal();
  await Promise.all(Array.from(document.images, (picture) => picture.decode().catch(() => null)));
  const said = core.getUtterance();
  const words = typeof said === 'string' ? said : said.utterance;
  const icon = document.querySelector('#query .ui-icon');
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return icon ? words.replace(/the +icon/, 'the ' + icon.className.replace(/^.*ui-icon-/, '') + ' icon') : words;
}
