import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState, useSyncExternalStore } from 'react';
import { translateExact } from '@/i18n/translate';
import { escapeInvisible } from '@/lib/escapeInvisible';
import { sizeText } from '@/lib/sizes';
import { ConfirmDialog } from '@/ui/ConfirmDialog';
import { Notice } from '@/ui/Notice';
import { Time } from '@/ui/Time';
import { cancelUpload } from './actions';
import classes from './Files.module.css';
import { fileNameOf, folderOf } from './paths';
import { uploadsQuery } from './queries';
import type { Roots, Upload } from './types';
import { resumeProblem, type UploadItem } from './upload';
import { uploads } from './uploader';

/** Uploads that were started in another tab or browser: they continue with the same file. */
export function UnfinishedUploads({ roots }: { roots: Roots }) {
  const query = useQuery(uploadsQuery);
  const here = useSyncExternalStore(uploads.subscribe, uploads.snapshot);
  const [dropping, drop] = useState<Upload | null>(null);
  const unfinished = query.data?.items.filter((upload) => !here.some((item) => isOf(item, upload)));
  const name = dropping && shownName(dropping);
  return (
    <>
      {unfinished && unfinished.length > 0 && (
        <Paper component="section" className={classes.uploads} aria-label={t`Unfinished uploads`}>
          <div className={classes.line}>
            <div className={classes.what}>
              <b>
                <Trans>Unfinished uploads</Trans>
              </b>
              <p className={classes.quiet}>
                <Trans>
                  Choose the same file, and the upload continues where it stopped. An upload that is
                  running in another tab is also listed here.
                </Trans>
              </p>
            </div>
          </div>
          <ul className={classes.lines}>
            {unfinished.map((upload) => (
              <Line key={upload.id} upload={upload} roots={roots} drop={() => drop(upload)} />
            ))}
          </ul>
        </Paper>
      )}
      <ConfirmDialog
        title={t`Discard this upload?`}
        opened={dropping !== null}
        onClose={() => drop(null)}
        button={t`Discard`}
        keep={t`Keep`}
        danger
        act={() => (dropping ? cancelUpload(dropping.id) : Promise.resolve())}
      >
        <Text size="sm">
          <Trans>The part of “{name}” that was uploaded is deleted.</Trans>
        </Text>
      </ConfirmDialog>
    </>
  );
}

/** Return whether an item of this tab is this upload, also before the item's id is known. */
const isOf = (item: UploadItem, { id, root, path }: Upload): boolean =>
  item.id === null ? item.root === root && item.path === path : item.id === id;

interface LineProps {
  upload: Upload;
  roots: Roots;
  drop: () => void;
}

const shownName = (upload: Upload): string => escapeInvisible(fileNameOf(upload.path));

function Line({ upload, roots, drop }: LineProps) {
  const [problem, setProblem] = useState<string | null>(null);
  const name = shownName(upload);
  const came = cameText(upload);
  const { root, offset } = upload;
  const goOn = (file: File): void => {
    if (root === null) return;
    const problem = resumeProblem(upload, file);
    setProblem(problem);
    if (problem === null) uploads.resume(upload, root, file);
  };
  return (
    <li className={classes.line}>
      <div className={classes.what}>
        <b>{name}</b>
        <p className={classes.quiet}>{placeText(upload, roots)}</p>
        <p className={classes.quiet}>
          <Trans>
            {came} Started <Time at={upload.created_at} relative />.
          </Trans>
        </p>
        {problem && <Notice tone="error">{problem}</Notice>}
      </div>
      <div className={classes.acts}>
        {root !== null && offset !== null && <GoOn name={name} goOn={goOn} />}
        <Button
          variant="default"
          size="compact-sm"
          aria-label={t`Discard the upload of ${name}`}
          onClick={drop}
        >
          <Trans>Discard</Trans>
        </Button>
      </div>
    </li>
  );
}

function placeText({ root, path }: Upload, roots: Roots): string {
  const match = roots.items.find(({ name }) => name === root);
  if (!match) return t`Its location is no longer shown here.`;
  const place = translateExact(match.title);
  const folder = escapeInvisible(folderOf(path));
  return folder === '' ? t`in ${place}` : t`in ${place}, ${folder}`;
}

const cameText = ({ offset, size_bytes: size }: Upload): string =>
  offset === null
    ? t`Its folder can't be reached now.`
    : t`${{ part: sizeText(offset) }} of ${{ whole: sizeText(size) }} uploaded.`;

function GoOn({ name, goOn }: { name: string; goOn: (file: File) => void }) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={t`Continue the upload of ${name}`}
        onClick={() => field.current?.click()}
      >
        <Trans>Continue</Trans>
      </Button>
      <input
        ref={field}
        type="file"
        hidden
        aria-label={t`The file ${name}`}
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file) goOn(file);
          currentTarget.value = '';
        }}
      />
    </>
  );
}
