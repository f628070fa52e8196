import { lingui } from '@lingui/vite-plugin';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { APP, codeSplitting } from './build/chunks.ts';

/** The font's file for English. */
const FONT = 'inter-latin-wght-normal.woff2';

/** Has browsers fetch the font, and the app while the language is being settled (src/main.tsx). */
function fetchAppEarly(): Plugin {
  return {
    name: 'fetch-app-early',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        if (bundle === undefined) return []; // nothing is built
        const chunks = Object.values(bundle).filter((each) => each.type === 'chunk');
        const app = chunks.find((each) => each.facadeModuleId?.endsWith(APP));
        if (app === undefined) throw new Error(`the build has no ${APP}`);
        const byName = new Map(chunks.map((each) => [each.fileName, each]));
        // a set grows while it is iterated
        const files = new Set([app.fileName]);
        for (const file of files)
          for (const each of byName.get(file)?.imports ?? []) files.add(each);
        const font = Object.values(bundle).find(
          (each) => each.type === 'asset' && each.names.includes(FONT),
        );
        if (font === undefined) throw new Error(`the build has no ${FONT}`);
        const early = [...files].filter((file) => !html.includes(file));
        return [
          link({ rel: 'preload', as: 'font', type: 'font/woff2' }, font.fileName),
          ...early.map((file) => link({ rel: 'modulepreload' }, file)),
        ];
      },
    },
  };
}

const link = (attrs: Record<string, string>, file: string) => ({
  tag: 'link',
  attrs: { ...attrs, crossorigin: true, href: `/${file}` },
  injectTo: 'head' as const,
});

/** Paths that a running portal answers; `make dev` sets its address. */
const FORWARDED = ['/api', '/hub', '/tensorboard'];

/** Vite's proxy to a portal. The portal accepts changes from its own origin only. */
function forwardTo(portal: string | undefined) {
  if (portal === undefined) return {};
  const headers = { Origin: portal };
  return Object.fromEntries(
    FORWARDED.map((path) => [path, { target: portal, changeOrigin: true, headers }]),
  );
}

export default defineConfig({
  server: { host: '127.0.0.1', proxy: forwardTo(process.env.PORTAL_URL) },
  plugins: [
    // English stays in the code, beside its use, so no English catalog is fetched
    lingui({
      macroTransform: { macro: { descriptorFields: 'message' } },
      failOnMissing: true,
      failOnCompileError: true,
    }),
    react(),
    fetchAppEarly(),
  ],
  resolve: { tsconfigPaths: true },
  build: {
    // default-src 'self' knows no data: addresses, and the polyfill would be dead weight
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // all styles together weigh less than the round trips for a file per page
    cssCodeSplit: false,
    // read by build/finish.js
    manifest: true,
    // the libraries of the first load are one file
    chunkSizeWarningLimit: 800,
    rolldownOptions: { output: { codeSplitting } },
  },
  test: {
    include: ['src/**/*.test.{ts,tsx}', 'lab/src/**/*.test.ts', 'build/*.test.js'],
    setupFiles: ['src/i18n/testing.ts'],
    environment: 'node',
    // no test asserts seconds: a busy machine takes many to render a page for the first time
    testTimeout: 60_000,
    reporters: ['default'],
  },
});
