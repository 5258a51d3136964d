# shellcheck shell=bash disable=SC2034,SC2154
# raytrain-inspect -o report.html of a run with 100,000 reports of ten metrics: the time to
# write the page, its size, and the time until headless Chromium has loaded it.
turns=3

rows()
{
    echo "page-write ms ours<=2000"
    echo "page-size bytes ours<=2000000"
    ! command -v chromedriver >/dev/null || echo "page-open ms ours<=1000"
}

prepare()
{
    /usr/bin/python3 "$top/t/check/sample_runs.py" long "$work/run" 100000 10
}

sample()
{
    echo "page-write $(milliseconds "$bin/raytrain-inspect" -o "$work/report.html" "$work/run") 0"
    echo "page-size $(wc -c <"$work/report.html") 0"
    ! command -v chromedriver >/dev/null ||
        echo "page-open $(timeout 120 /usr/bin/python3 "$top/t/check/page_browser.py" --load \
            "$work/report.html") 0"
}
