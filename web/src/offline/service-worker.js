// Keeps the files of one build, so that the page can be read again without a network. The build fills in the two
// names. A new build waits until the pages of the old one are closed: a page never gets files of two builds.
const cacheName = `ropewalk ${registration.scope} ${'HASH'}`;
const files = FILES;

// Names in assets/ are of their contents. What the browser keeps of the others may be of an older build: it asks the host.
const requests = files.map((file) => new Request(file, { cache: file.includes('/assets/') ? 'default' : 'no-cache' }));

addEventListener('install', (event) => {
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(requests)));
});

addEventListener('activate', (event) => {
  const old = (name) => name.startsWith(`ropewalk ${registration.scope} `) && name !== cacheName;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(old).map((name) => caches.delete(name)))));
});

addEventListener('fetch', (event) => {
  if (event.request.method !== 'GET' || new URL(event.request.url).origin !== location.origin) return;
  // The files are the same for whoever asks, whatever the host says that they vary by.
  const how = { ignoreSearch: true, ignoreVary: true };
  // The page is kept by one of its two names.
  const address = event.request.url.replace(/index\.html(?=[?#]|$)/, '');
  const kept = caches.open(cacheName).then((cache) => cache.match(address, how));
  event.respondWith(kept.then((answer) => answer ?? fetch(event.request)));
});
