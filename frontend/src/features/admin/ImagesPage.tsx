import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, Title } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useId } from 'react';
import { errorMessage } from '@/api/problem';
import type { ImageImport, ImportedImage } from '@/api/types';
import { translate } from '@/i18n/translate';
import { refetchFailed } from '@/lib/queries';
import { mayChange } from '@/lib/roles';
import { useMe } from '@/lib/useMe';
import { ListSkeleton } from '@/ui/ListSkeleton';
import { Notice } from '@/ui/Notice';
import { TryAgain } from '@/ui/TryAgain';
import { AdminFrame } from './AdminFrame';
import { ImageRow } from './ImageRow';
import classes from './ImagesPage.module.css';
import { ImportForm } from './ImportForm';
import { ImportRow } from './ImportRow';
import { isActiveImport } from './images';
import { imagesQuery, importsQuery } from './queries';

/** Container images from registries, for administrators. */
export function ImagesPage() {
  return (
    <AdminFrame tab={t`Images`} title={t`Images`}>
      <Images />
    </AdminFrame>
  );
}

function Images() {
  const change = mayChange(useMe());
  const images = useQuery(imagesQuery);
  const imports = useQuery(importsQuery);
  useRefetchOnImportEnd(imports.data);
  const unavailable = images.data?.off;
  const error = images.error ?? imports.error;
  return (
    <>
      {error && (
        <TryAgain error={errorMessage(error)} onRetry={() => refetchFailed(images, imports)} />
      )}
      {!error && (images.isPending || imports.isPending) && <ListSkeleton rows={6} />}
      {unavailable && <Notice tone="info">{translate(unavailable)}</Notice>}
      {images.data && !unavailable && imports.data && (
        <div className={classes.sections}>
          {change && <ImportForm />}
          <Imports title={t`In progress`} rows={imports.data.filter(isActiveImport)} />
          <Files images={images.data.items} />
          <Imports
            title={t`Earlier imports`}
            rows={imports.data.filter((row) => !isActiveImport(row))}
          />
        </div>
      )}
    </>
  );
}

/** Refetch the list of files when an import ends. */
function useRefetchOnImportEnd(rows: ImageImport[] | undefined): void {
  const queries = useQueryClient();
  const done = rows?.filter((row) => !isActiveImport(row)).length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: an import that has ended is the reason to refetch
  useEffect(() => {
    void queries.invalidateQueries(imagesQuery);
  }, [queries, done]);
}

function Imports({ title, rows }: { title: string; rows: ImageImport[] }) {
  const id = useId();
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby={id}>
      <Title order={2} size="h4" id={id}>
        {title}
      </Title>
      <ul className={classes.list}>
        {rows.map((row) => (
          <ImportRow key={row.id} row={row} />
        ))}
      </ul>
    </section>
  );
}

function Files({ images }: { images: ImportedImage[] }) {
  return (
    <section aria-labelledby="files">
      <Title order={2} size="h4" id="files">
        <Trans>Imported images</Trans>
      </Title>
      {images.length === 0 ? (
        <Paper className={classes.none} mt="sm">
          <Trans>
            There are no imported images yet. An environment can run from any container image:
            import it here, then write an environment that names its file, such as{' '}
            <code>image: pytorch-24.05.sif</code>, into the catalog's folder. No restart is needed.
          </Trans>
        </Paper>
      ) : (
        <ul className={classes.list}>
          {images.map((image) => (
            <ImageRow key={image.file} image={image} />
          ))}
        </ul>
      )}
    </section>
  );
}
