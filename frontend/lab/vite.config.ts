/** Builds the prebuilt extension: one script, and the package.json by which JupyterLab finds it. */
import { defineConfig, type Plugin } from 'vite';
import packageJson from '../package.json' with { type: 'json' };
import about from './about.json' with { type: 'json' };

/** Write what `jupyter labextension build` would; the script's name contains its content hash. */
function labPackage(): Plugin {
  return {
    name: 'lab-package',
    generateBundle(_options, bundle) {
      const load = Object.keys(bundle).find((name) => name.endsWith('.js'));
      const jupyterlab = { extension: true, _build: { load, extension: './extension' } };
      const source = JSON.stringify(
        { ...about, version: packageJson.version, jupyterlab },
        null,
        1,
      );
      this.emitFile({ type: 'asset', fileName: 'package.json', source: `${source}\n` });
    },
  };
}

/** The pages' translations stay out: their catalogues are large, and JupyterLab has a language of its
 * own. What both need knows no words (`src/lib/spans.ts`). */
function withoutLingui(): Plugin {
  return {
    name: 'without-lingui',
    enforce: 'pre',
    resolveId(source, importer) {
      if (source.startsWith('@lingui/')) this.error(`${importer} brings in ${source}`);
    },
  };
}

export default defineConfig({
  base: './', // beside the script, wherever JupyterLab has it from
  resolve: { tsconfigPaths: true },
  plugins: [withoutLingui(), labPackage()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    rollupOptions: {
      input: 'src/index.ts',
      output: {
        format: 'iife',
        entryFileNames: 'static/portal.[hash].js',
        assetFileNames: 'static/[name].[hash][extname]',
      },
    },
  },
});
