import { lingui } from '@lingui/vite-plugin';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

/** Has browsers fetch the pages' common code while the language is being settled (src/main.tsx). */
function fetchAppEarly(): Plugin {
  return {
    name: 'fetch-app-early',
    transformIndexHtml: {
      order: 'post',
      handler(html, { bundle }) {
        if (bundle === undefined) return []; // nothing is built
        const app = Object.values(bundle).find(
          (each) => each.type === 'chunk' && each.facadeModuleId?.endsWith('/src/app/render.tsx'),
        );
        if (app?.type !== 'chunk') throw new Error('the build has no src/app/render.tsx');
        const early = [app.fileName, ...app.imports].filter((file) => !html.includes(file));
        return early.map((file) => ({
          tag: 'link',
          attrs: { rel: 'modulepreload', crossorigin: true, href: `/${file}` },
          injectTo: 'head' as const,
        }));
      },
    },
  };
}

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
    // read by build/finish.js
    manifest: true,
  },
  test: {
    include: ['src/**/*.test.{ts,tsx}', 'lab/src/**/*.test.ts', 'build/*.test.js'],
    setupFiles: ['src/i18n/testing.ts'],
    environment: 'node',
    reporters: ['default'],
  },
});
