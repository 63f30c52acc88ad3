//! Text tables: dense and long, their labels, and what is refused.

use crate::common::{check, check_error, describe, lines, read, read_named, read_with};
use cavi_files::{Content, FileError, Wanted};

fn csv(text: &str) -> Result<Content, FileError> {
    read("a.csv", text, "user item")
}

fn text(table: &str, axes: &str) -> Result<Content, FileError> {
    read_with("a.csv", table, axes, Wanted::Text, None, &[])
}

fn pick(table: &str, axes: &str, column: &str) -> Result<Content, FileError> {
    read_with("a.csv", table, axes, Wanted::Numbers, Some(column), &[])
}

fn map(table: &str, axes: &str, columns: &[(&str, &str)]) -> Result<Content, FileError> {
    read_with("a.csv", table, axes, Wanted::Numbers, None, columns)
}

/// Of several columns that may hold the values, the one that bears the array's name does.
#[test]
fn the_column_of_the_name_of_an_array_holds_its_values() {
    let named = |name, table: &str, axes: &str| read_named("a.csv", table, axes, name);
    check(named("n", "note,user,item,n\nx,u,i,1\ny,v,j,2\n", "user item"), "long (u|v) by (i|j) n=1 2");
    check(named("y", "name,age,y\nAna,30,1\nBo,40,3\n", "user"), "dense [2] [Ana|Bo] = 1 3");
    check(named("y", "day,age,y\n1,30,1\n2,40,3\n", "user"), "dense [2] - = 1 3");
    check(named("age", "user,age,y\nAna,30,1\nBo,40,3\n", "user"), "dense [2] [Ana|Bo] = 30 40");
    // One column alone is the value under any name, and the array's own name may be that of labels.
    check(named("user", "user,y\nAna,1\nBo,3\n", "user"), "dense [2] [Ana|Bo] = 1 3");
    check(named("film", "film,y\nUp,1\nJaws,3\n", "user"), "dense [2] [Up|Jaws] = 1 3");
    check_error(
        named("z", "day,age,y\n1,30,1\n2,40,3\n", "user"),
        "a.csv, line 1: found 3 columns that may hold the values: `day`, `age`, `y`; expected one (`FILE:COLUMN` or \
         `--columns NAME=...,value:COLUMN` says which)",
    );
}

#[test]
fn dense_tables_without_labels() {
    check(csv("1,2\n3,4\n5,6\n"), "dense [3, 2] - - = 1 2 3 4 5 6");
    check(csv("1,2\n3,4"), "dense [2, 2] - - = 1 2 3 4");
    check(csv("\u{feff}1,2\r\n3,4\r\n"), "dense [2, 2] - - = 1 2 3 4");
    check(csv("1,,NA\nnan,na,NaN\n\"\",\" \",\"5\"\n"), "dense [3, 3] - - = 1 ? ? ? ? ? ? ? 5");
    check(csv(" 1 , -2.5e3\n+3,.5\n"), "dense [2, 2] - - = 1 -2500 3 0.5");
    check(csv("1,2\n\n3,4\n\n"), "dense [2, 2] - - = 1 2 3 4");
    check(read("a.tsv", "1\t\t3\n4\t5\t6\n", "user item"), "dense [2, 3] - - = 1 ? 3 4 5 6");
    // A line of numbers is no header, whatever is meant by them.
    check(csv("240,241\n1,2\n"), "dense [2, 2] - - = 240 241 1 2");
}

#[test]
fn dense_tables_with_labels() {
    check(csv("soup,rice\n1,2\n3,4\n"), "dense [2, 2] - [soup|rice] = 1 2 3 4");
    check(csv(",soup,rice\nAna,1,2\nBo,3,4\n"), "dense [2, 2] [Ana|Bo] [soup|rice] = 1 2 3 4");
    // Numbers are row labels where the header says so, or where another entry is no number.
    check(csv(",soup,rice\n7,1,2\n8,3,4\n"), "dense [2, 2] [7|8] [soup|rice] = 1 2 3 4");
    // Numbers name columns above names of rows, where each is another one.
    check(csv(",2019,2020\nAna,1,2\nBo,3,4\n"), "dense [2, 2] [Ana|Bo] [2019|2020] = 1 2 3 4");
    check(csv("\"\",\"2019\",\"2020\"\n\"Ana\",1,2\n7,3,4\n"), "dense [2, 2] [Ana|7] [2019|2020] = 1 2 3 4");
    check(csv("2019,2020\nAna,1,2\nBo,3,4\n"), "dense [2, 2] [Ana|Bo] [2019|2020] = 1 2 3 4");
    check(csv(",2019,2020\n7,1,2\n8,3,4\n"), "dense [3, 3] - - = ? 2019 2020 7 1 2 8 3 4");
    check_error(
        csv(",20,20\nAna,1,2\n"),
        "a.csv, line 2, column 1: found `Ana`; expected a number, or `NA` or nothing if it is missing (a first line of numbers and empty fields is no header: if it names columns, write `user` into its empty field)",
    );
    check(csv("user,soup,rice\n7,1,2\n8,3,4\n"), "dense [2, 2] [7|8] [soup|rice] = 1 2 3 4");
    check(csv("id,soup,rice\n7,1,2\n8b,3,4\n"), "dense [2, 2] [7|8b] [soup|rice] = 1 2 3 4");
    check(csv("id,soup,rice\n7,1,2\n8,3,4\n"), "dense [2, 3] - [id|soup|rice] = 7 1 2 8 3 4");
    // Positions of rows and columns, as data frames without names are written; a number elsewhere is data.
    check(csv(",0,1\n0,5,6\n1,7,8\n"), "dense [2, 2] [0|1] [0|1] = 5 6 7 8");
    check(csv(",0,1\n0,5,6\n1,7,8\n\n"), "dense [2, 2] [0|1] [0|1] = 5 6 7 8");
    check(csv(",1,2\n1,5,6\n2,7,8\n"), "dense [3, 3] - - = ? 1 2 1 5 6 2 7 8");
    check(csv(",0,1\n0,5,6\n2,7,8\n"), "dense [3, 3] - - = ? 0 1 0 5 6 2 7 8");
    check(csv(",0,2\n0,5,6\n1,7,8\n"), "dense [3, 3] - - = ? 0 2 0 5 6 1 7 8");
    check(csv("NA,0,1\n0,5,6\n1,7,8\n"), "dense [3, 3] - - = ? 0 1 0 5 6 1 7 8");
    check(csv("\n5\n"), "dense [2, 1] - - = ? 5");
    // A missing entry makes no labels.
    check(csv("x,y\n,\n1,2\nNA,3\n"), "dense [3, 2] - [x|y] = ? ? 1 2 ? 3");
    // By the rule for headers, a first line of numbers after an empty field is none.
    check(csv(",1,2\n0,3,4\n"), "dense [2, 3] - - = ? 1 2 0 3 4");
    check(csv(",1,2\nr0,0,3\nr1,,4\n"), "dense [2, 2] [r0|r1] [1|2] = 0 3 ? 4");
    check(csv("x,y\n"), "dense [0, 2] - [x|y] = ");
    check(csv(",x,y\n"), "dense [0, 2] [] [x|y] = ");
    check(read("a.csv", "i,x\n1,2\n", "person/i person/j"), "dense [1, 1] [1] [x] = 2");
    // One column.
    check(csv("1\n\n3\n"), "dense [3, 1] - - = 1 ? 3");
}

#[test]
fn quotation_marks_follow_rfc_4180() {
    check(
        csv("\"\",\"Cer(d18:1/16:0)\",\"a \"\"b\"\", c\"\n\"x, y\",1,\"2\"\n\"z\"\"\",3,4\r\n"),
        "dense [2, 2] [x, y|z\"] [Cer(d18:1/16:0)|a \"b\", c] = 1 2 3 4",
    );
    check(csv(",a \"b\"\nx,1\n"), "dense [1, 1] [x] [a \"b\"] = 1");
    check_error(
        csv("a,b\n1,\"2\n3,4\n"),
        "a.csv, line 2: found a quotation mark that is never closed; expected a second one at the end of the field",
    );
    check_error(
        csv("a,b\n\"1\"2,3\n"),
        "a.csv, line 2: found text after a closing quotation mark; expected the end of the field (a quotation mark within a field is written twice)",
    );
    check_error(
        csv("a,b\n\"x\ny\",1\n"),
        "a.csv, line 2, column `a`: found a line break within `x\\ny`; expected a label of one line (the header of a long table names every axis: `user`, `item`)",
    );
}

#[test]
fn lines_are_known_after_fields_of_several_lines() {
    let content = csv("note,user,item,n\n\"a\nb\",u,i,1\n\nc,v,j,2\n");
    check_error(
        content,
        "a.csv, line 1: found 2 columns that may hold the values: `note`, `n`; expected one (`FILE:COLUMN` or \
         `--columns NAME=...,value:COLUMN` says which)",
    );
    let content = pick("note,user,item,n\n\"a\nb\",u,i,1\n\nc,v,j,2\n", "user item", "n").unwrap();
    assert_eq!(lines(&content), [2, 5]);
    let error = content.error_at("a.csv".as_ref(), 1, "2", "0 or 1");
    assert_eq!(error.to_string(), "a.csv, line 5, column `n`: found 2; expected 0 or 1");
    assert_eq!(lines(&csv("x,y\n1,2\n3,4\n").unwrap()), [2, 2, 3, 3]);
}

#[test]
fn long_tables() {
    check(
        csv("user,item,count\nAna,soup,3\nBo,rice,\nAna,soup,1\n"),
        "long (Ana|Bo|Ana) by (soup|rice|soup) count=3 ? 1",
    );
    check(csv("n, item ,user\n3,soup,Ana\n"), "long (Ana) by (soup) n=3");
    check(csv("user,item,count\n"), "long () by () count=");
    check(read("a.tsv", "a\tc\tb\tn\nx\ty\tz\t1\n", "a b c"), "long (x) by (z) by (y) n=1");
    // Where an axis has two letters, the letters name the columns.
    check(read("a.csv", "w,j,i\n1,Bo,Ana\n", "person/i person/j"), "long (Ana) by (Bo) w=1");
    check(read("a.csv", "person,year,w\nAna,1999,5\n", "person/i year"), "long (Ana) by (1999) w=5");
    // `NA` is no missing value on an axis: it may be a label.
    check(csv("user,item,count\nNA,soup,NA\n"), "long (NA) by (soup) count=?");
    check(
        read_with("a.csv", "user,item\nAna,soup\n", "user item", Wanted::Positions, None, &[]),
        "long (Ana) by (soup)",
    );
    check(
        read_with("a.csv", "user,item,x,y\nAna,soup,7,z\n", "user item", Wanted::Positions, None, &[]),
        "long (Ana) by (soup)",
    );
    // A further column of numbers holds values that may be there; one of words, and one of several, do not.
    for (text, dimensions, found) in [
        ("user,item,x\nAna,soup,7\n", "user item", "long (Ana) by (soup) x=7"),
        ("user,item,x\nAna,soup,z\n", "user item", "long (Ana) by (soup)"),
        ("user,item,x,y\nAna,soup,7,8\n", "user item", "long (Ana) by (soup)"),
        ("user,item\nAna,soup\n", "user item", "long (Ana) by (soup)"),
        ("user,x\nAna,7\n", "user", "long (Ana) x=7"),
        ("user_id,item_id,x\n1,2,7\n", "user item", "long (1) by (2) x=7"),
    ] {
        check(read_with("a.csv", text, dimensions, Wanted::Optional, None, &[]), found);
    }
    check(read_with("a.csv", "user,x\nAna,z\n", "user", Wanted::Positions, None, &[]), "long (Ana)");
    check(text("t,doc,word\n1,x,cat\n2,x,\n", "doc t"), "long (x|x) by (1|2) word=(cat|?)");
    // A header that names the axes in other letters is no header of items.
    for header in ["User,Item,value", "USER,time,item"] {
        let names = header.split(',').map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        check_error(
            csv(&format!("{header}\n0,0,3\n0,1,1\n")),
            &format!(
                "a.csv, line 1: found the columns {names}; expected a long table, whose header names the axes as the program does: \
                 `user`, `item` (write them so, or `--columns NAME=axis:column,...` says which columns are which axes)"
            ),
        );
        let role = |name: &str| match name.to_lowercase().as_str() {
            "user" => "user",
            "item" => "item",
            _ => "value",
        };
        let columns: Vec<(&str, &str)> = header.split(',').map(|name| (role(name), name)).collect();
        let long = map(&format!("{header}\n0,0,0\n"), "user item", &columns);
        assert!(long.is_ok(), "{header}");
    }
    check(csv("User,soup,rice\n0,1,2\n"), "dense [1, 3] - [User|soup|rice] = 0 1 2");
}

/// A header that names ids and no axis is that of a long table, read where it says all and refused with both lines to type where
/// it does not; a counter is no second id.
#[test]
fn ids_make_a_table_long() {
    check(csv("user_id,item_id,count\n1,10,3\n1,11,1\n2,10,2\n"), "long (1|1|2) by (10|11|10) count=3 1 2");
    check(csv("itemId,n,userId\n10,3,1\n11,1,1\n"), "long (1|1) by (10|11) n=3 1");
    check(csv("ITEM ID,Users ID,n\n10,3,1\n"), "long (3) by (10) n=1");
    check(csv("user,item_id,n\nAna,3,1\n"), "long (Ana) by (3) n=1");
    check(
        read_with("a.csv", "user_id,item_id,x,y\n1,2,7,z\n", "user item", Wanted::Positions, None, &[]),
        "long (1) by (2)",
    );
    let both = |header: &str, ids: &str, line: &str| {
        let names = header.split(',').map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let row = vec!["1"; header.split(',').count()].join(",");
        check_error(
            csv(&format!("{header}\n{row}\n")),
            &format!(
                "a.csv, line 1: found the columns {names}, of which {ids} are ids; expected a header that names the axes, or which \
                 columns are which (`--columns NAME={line}` if each line is one entry, or `--columns NAME=wide` if it is rows by \
                 columns)"
            ),
        );
    };
    both("userId,movieId,rating,timestamp", "`userId`, `movieId`", "user:userId,item:movieId,value:rating");
    both("movieId,userId,rating", "`movieId`, `userId`", "user:userId,item:movieId,value:rating");
    both(
        "user_id,item_id,session_id,n",
        "`user_id`, `item_id`, `session_id`",
        "user:user_id,item:item_id,value:session_id",
    );
    both("userid,bookid", "`userid`, `bookid`", "user:userid,item:bookid,value:COLUMN");
    // One id is that of the rows, or data; words may end as ids do.
    check(csv("id,soup,rice\n1,0,2\n2,1,0\n"), "dense [2, 3] - [id|soup|rice] = 1 0 2 2 1 0");
    check(csv(",a_id,b\n0,1,2\n"), "dense [1, 2] [0] [a_id|b] = 1 2");
    check(csv("a_id,b_id,c\n0.5,1.5,2\n"), "dense [1, 3] - [a_id|b_id|c] = 0.5 1.5 2");
    check(
        csv("a,acid,b,c,d,e,f,said,g\n1,2,3,4,5,6,7,8,9\n"),
        "dense [1, 9] - [a|acid|b|c|d|e|f|said|g] = 1 2 3 4 5 6 7 8 9",
    );
}

#[test]
fn columns_are_chosen() {
    let ratings = "userId,movieId,rating,time\nu,m,4.5,9\n";
    let all = [("user", "userId"), ("item", "movieId"), ("value", "rating")];
    check(map(ratings, "user item", &all), "long (u) by (m) rating=4.5");
    check(
        read_with("a.csv", ratings, "user item", Wanted::Numbers, Some("time"), &all),
        "long (u) by (m) time=9",
    );
    check(pick("user,item,a,b\nu,i,1,2\n", "user item", "b"), "long (u) by (i) b=2");
    check(map("p,q,w\nu,v,1\n", "person/i person/j", &[("j", "p"), ("i", "q")]), "long (v) by (u) w=1");
    check_error(
        map(ratings, "user item", &[("usr", "userId")]),
        "a.csv: found `usr` among the names of `--columns`; expected `user`, `item` or `value`",
    );
    check_error(
        map(ratings, "user item", &[("user", "uid")]),
        "a.csv, line 1: found the columns `userId`, `movieId`, `rating`, `time`; expected a column `uid`",
    );
    check_error(
        map(ratings, "user item", &[("user", "userId")]),
        "a.csv, line 1: found the columns `userId`, `movieId`, `rating`, `time`; expected a long table, with a column \
         for each axis; missing: `item` (`--columns NAME=axis:column,...` says which columns are which axes)",
    );
    check_error(
        pick(ratings, "user item", "rating"),
        "a.csv, line 1: found numbers in the column `rating`, beside `userId`, `movieId`, `time`; expected texts, one document \
         a row, or a long table with columns `user` and `item` (`--columns NAME=axis:column,...` says which columns are which axes)",
    );
    check_error(pick("1,2\n", "user", "y"), "a.csv, line 1: found no header; expected a column `y`");
    check_error(
        pick("y,y\n1,2\n", "user", "y"),
        "a.csv, line 1: found two columns named `y`; expected names of their own for the columns that are read",
    );
}

#[test]
fn arrays_of_one_dimension() {
    let vector = |table: &str| read("y.csv", table, "user");
    check(vector("1\n\n3\n"), "dense [3] - = 1 ? 3");
    check(vector("y\n1\n3\n"), "dense [2] - = 1 3");
    check(vector("user\n1\n3\n"), "dense [2] - = 1 3");
    check(vector("1,2,3\n"), "dense [3] - = 1 2 3");
    check(vector("user,y\n7,1\n5,3\n"), "dense [2] [7|5] = 1 3");
    check(vector("y,user\n1,7\n3,5\n"), "dense [2] [7|5] = 1 3");
    check(vector(",y\n7,1\n5,3\n"), "dense [2] [7|5] = 1 3");
    check(vector("name,y\nAna,1\nBo,3\n"), "dense [2] [Ana|Bo] = 1 3");
    check(vector("y\n"), "dense [0] - = ");
    // A label that repeats makes a long table where the header names the axis, and is a mistake otherwise.
    check(vector("user,y\n7,1\n7,3\n"), "long (7|7) y=1 3");
    check_error(
        vector("name,y\nAna,1\nAna,3\n"),
        "y.csv, line 3, column `name`: found the label `Ana`, which also stands in line 2; expected a label of its own \
         for each row",
    );
    check_error(
        vector("a,b\n1,2\n"),
        "y.csv, line 1: found 2 columns that may hold the values: `a`, `b`; expected one (`FILE:COLUMN` or `--columns \
         NAME=...,value:COLUMN` says which)",
    );
    check_error(vector("1,2\n3,4\n"), "y.csv, line 1: found 2 columns; expected one column of values");
    check(read("c.csv", "0.5\n", ""), "dense [] = 0.5");
    check(read("c.csv", "c\n0.5\n", ""), "dense [] = 0.5");
    check_error(read("c.csv", "1\n2\n", ""), "c.csv: found 2 rows; expected a single number");
}

#[test]
fn one_column_of_a_table() {
    let samples = "subject,time,bmi\nbyn,4,30\nnms,2,20\n";
    check(pick(samples, "sample", "bmi"), "dense [2] [byn|nms] = 30 20");
    check(pick("time,bmi\n4,30\n2,20\n", "sample", "bmi"), "dense [2] - = 30 20");
    check(pick("sample,bmi\n4,30\n2,20\n", "sample", "bmi"), "dense [2] [4|2] = 30 20");
    // A first column that repeats itself is not the labels of the rows.
    check(pick("subject,bmi\nbyn,30\nbyn,20\n", "sample", "bmi"), "dense [2] - = 30 20");
    check(
        read_with("a.csv", samples, "sample", Wanted::Text, Some("subject"), &[]),
        "dense [2] - = (byn|nms)",
    );
    check(map(samples, "sample", &[("sample", "time"), ("value", "bmi")]), "dense [2] [4|2] = 30 20");
    check(map(samples, "sample", &[("value", "bmi")]), "dense [2] [byn|nms] = 30 20");
}

#[test]
fn values_that_are_labels() {
    check(text("cat\ndog\ncat\n", "n"), "dense [2] - = (dog|cat)");
    check(text("kind\ndog\n\nna\n-1\n", "n"), "dense [4] - = (dog|?|?|-1)");
    check(text("n,kind\n1,dog\n2,cat\n", "n"), "dense [2] [1|2] = (dog|cat)");
    check(text("0,1\n1,\n", "a b"), "dense [2, 2] - - = (0|1|1|?)");
    check(text(",x,y\nr,dog,cat\n", "a b"), "dense [1, 2] [r] [x|y] = (dog|cat)");
}

#[test]
fn wrong_tables_are_refused() {
    check_error(csv("1,2\n3\n"), "a.csv, line 2: found 1 field; expected 2, as in the first line");
    check_error(csv("x,y\n1,2\n3,4,5\n"), "a.csv, line 3: found 3 fields; expected 2, as in the first line");
    check_error(
        csv("1,2\n3,x\n"),
        "a.csv, line 2, column 2: found `x`; expected a number, or `NA` or nothing if it is missing (a first line of numbers and empty fields is no header)",
    );
    check_error(
        csv("user,item,count\nAna,soup,3\nBo,rice,many\n"),
        "a.csv, line 3, column `count`: found `many`; expected a number, or `NA` or nothing if it is missing",
    );
    check_error(
        csv("User,Item,count\nAna,soup,3\n"),
        "a.csv, line 1: found the columns `User`, `Item`, `count`; expected a long table, whose header names the axes as the program \
         does: `user`, `item` (write them so, or `--columns NAME=axis:column,...` says which columns are which axes)",
    );
    check_error(
        csv("user,item,count\nAna,,3\n"),
        "a.csv, line 2, column `item`: found an empty field; expected a label",
    );
    check_error(
        csv("user,item\nAna,soup\n"),
        "a.csv, line 1: found no column of values beside `user`, `item`; expected one",
    );
    check_error(
        csv(",x,y,x\nr,1,2,3\n"),
        "a.csv, line 1, column 4: found the label `x`, which column 2 has too; expected a label of its own for each column",
    );
    check_error(csv("x,y,\n1,2,3\n"), "a.csv, line 1, column 3: found an empty field; expected a label");
    check_error(
        csv(",x\nr,1\ns,2\nr,3\n"),
        "a.csv, line 4, column ``: found the label `r`, which also stands in line 2; expected a label of its own for \
         each row (the header of a long table names every axis: `user`, `item`)",
    );
    check_error(
        csv("Ana\nBo\n"),
        "a.csv, line 1: found a column of row labels and nothing else; expected columns of values beside it",
    );
    check_error(
        csv("a\tb\n1\t2\n"),
        "a.csv, line 1: found fields parted by tabs; expected commas, by the suffix of the file",
    );
    check_error(
        read("a.tsv", "1,2\n3,4\n", "a b"),
        "a.tsv, line 1: found fields parted by commas; expected tabs, by the suffix of the file",
    );
    check_error(
        read("a.csv", "1,2\n", "a b c"),
        "a.csv, line 1: found a table without a header; expected a long table, with a column for each axis; missing: \
         `a`, `b`, `c` (`--columns NAME=axis:column,...` says which columns are which axes)",
    );
    check_error(csv("\u{feff}"), "a.csv: found an empty file; expected a table");
}

#[test]
fn semicolons_part_fields_where_commas_do_not() {
    let csv = |text: &str| read("a.csv", text, "row col");
    check(csv("a;b\n1;2\n"), "dense [1, 2] - [a|b] = 1 2");
    check(csv(";b, c;\"d;e\"\nx;2;3\n"), "dense [1, 2] [x] [b, c|d;e] = 2 3");
    // A comma in the first line, and one field a line.
    check(csv("a;x,b\n1,2\n"), "dense [1, 2] - [a;x|b] = 1 2");
    check_error(
        csv(";a;b\nx;1,5;2\n"),
        "a.csv, line 2, column `a`: found `1,5`; expected a number, or `NA` or nothing if it is missing (numbers have a point: \
         write `1.5`, and nothing between thousands)",
    );
    assert!(csv("1,5;2,5\n1,5;3,0\n").unwrap_err().to_string().contains("write `1.5`"));
    assert!(read("a.tsv", "a\tb\n1\t0,25\n", "row col").unwrap_err().to_string().contains("write `0.25`"));
}

#[test]
fn a_column_of_texts_is_named_as_one() {
    let table = "id,body,year\n1,one two three four five six,2020\n2,a b c d e f g,2021\n";
    let error = read("a.csv", table, "doc word").unwrap_err().to_string();
    assert!(error.contains("`body` holds texts: `FILE:body` reads one document from each line"), "{error}");
}

#[test]
fn thousands_are_not_taken_for_a_decimal_comma() {
    let error = read("a.csv", "a,b\n\"1,000\",2\n", "row col").unwrap_err().to_string();
    assert!(error.contains("write `1000` or `1.000`, as it is meant"), "{error}");
}

/// Ids that are whole numbers were measurements, and rows of two tables met by their order.
#[test]
fn a_column_named_as_the_id_of_the_axis_holds_labels() {
    check(
        read("a.csv", "patient_id,hb,crp\n11,1,2\n7,3,4\n", "patient lab"),
        "dense [2, 2] [11|7] [hb|crp] = 1 2 3 4",
    );
    check(read("a.csv", "patientId,out\n11,1\n7,3\n", "patient"), "dense [2] [11|7] = 1 3");
    check(pick("age,patient_id,out\n30,11,1\n40,7,3\n", "patient", "out"), "dense [2] [11|7] = 1 3");
    // An id of something else, or one that stands twice, is a number.
    check(read("a.csv", "ward_id,hb\n1,2\n3,4\n", "patient lab"), "dense [2, 2] - [ward_id|hb] = 1 2 3 4");
    check(
        read("a.csv", "patient_id,hb\n1,2\n1,4\n", "patient lab"),
        "dense [2, 2] - [patient_id|hb] = 1 2 1 4",
    );
}

#[test]
fn other_words_for_a_missing_value_are_told_apart_from_mistakes() {
    for word in ["N/A", "null", "#N/A", "-", ".", "None"] {
        let error = read("a.csv", format!("a,b\n1,{word}\n"), "row col").unwrap_err().to_string();
        assert!(
            error.contains(&format!("where `{word}` is a missing value, write `NA` or nothing")),
            "{error}"
        );
    }
}

/// One mistyped number in the first column once made all of it labels.
#[test]
fn a_first_column_of_measured_numbers_is_no_labels() {
    let rows = |last: &str| {
        let rows: String = (0..12).map(|row| format!("{}.5,{row}\n", row % 4)).collect();
        format!("a,b\n{rows}{last},1\n")
    };
    check_error(
        read("a.csv", rows("1.2x"), "row col"),
        "a.csv, line 14, column `a`: found `1.2x`; expected a number, or `NA` or nothing if it is missing (nearly all entries \
         of `a` are numbers; if they are labels, leave its name in the header empty)",
    );
    assert!(
        read("a.csv", rows("N/A"), "row col")
            .unwrap_err()
            .to_string()
            .contains("where `N/A` is a missing value")
    );
    // Chromosomes.
    let text: String = (1..23).map(|row| format!("{row},1\n")).collect();
    let content = read("a.csv", format!("chromosome,b\n{text}X,2\nY,3\n\n\n"), "c b").unwrap();
    assert!(describe(&content).starts_with("dense [24, 1] [1|2|3|"), "{}", describe(&content));
}

#[test]
fn lines_may_end_in_carriage_returns_alone() {
    check(read("a.csv", ",a,b\rx,1,2\ry,3,4\r", "row col"), "dense [2, 2] [x|y] [a|b] = 1 2 3 4");
}

/// Catalogues of mutations, and what R's `write.table` writes.
#[test]
fn tables_of_blanks_are_read() {
    let expected = "dense [2, 2] [A[C>A]A|A[C>A]C] [PD1|PD2] = 1 2 3 4";
    check(read("c.all", "MutationType\tPD1\tPD2\nA[C>A]A\t1\t2\nA[C>A]C\t3\t4\n", "type genome"), expected);
    check(read("c.txt", "type  PD1 PD2\nA[C>A]A   1 2\nA[C>A]C 3  4\n", "type genome"), expected);
    check(read("c.txt", "\"PD1\" \"PD2\"\n\"A[C>A]A\" 1 2\n\"A[C>A]C\" 3 4\n", "type genome"), expected);
    let error =
        read("posts.txt", "the whale and\nthe sea and the ship\n", "doc word").unwrap_err().to_string();
    assert!(error.contains("lines:FILE"), "{error}");
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let bytes = |bytes: &[u8]| read("a.csv", bytes, "a b");
    check_error(bytes(b"1,2\n3,\0\n"), "a.csv, line 2: found a NUL byte (byte 6); expected text");
    check_error(
        bytes(b"x,y\nr\xe9s,2\n"),
        "a.csv, line 2: found byte 5 (0xe9), which is no UTF-8, after `r`; expected text in UTF-8 (if it is Latin-1 or \
         Windows-1252, `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW` makes it so)",
    );
    check_error(
        bytes(b"\xff\xfe1\0,\0"),
        "a.csv: found text in UTF-16; expected text in UTF-8 (`iconv -f UTF-16 -t UTF-8 FILE > NEW` makes it so)",
    );
}

/// The index of a data frame is no value, and labels the rows of a wide table, also once it was read and written again.
#[test]
fn the_index_of_a_data_frame_is_passed_over() {
    for name in ["", "Unnamed: 0"] {
        let read = |rest: &str, axes: &str| read("a.csv", format!("{name},{rest}"), axes);
        check(read("user,item,n\n0,u,x,3\n1,v,x,4\n", "user item"), "long (u|v) by (x|x) n=3 4");
        check(read("user_id,item_id,n\n0,7,1,3\n1,7,2,4\n", "user item"), "long (7|7) by (1|2) n=3 4");
        check(read("a,b\n0,7,1\n1,7,2\n", "row column"), "dense [2, 2] [0|1] [a|b] = 7 1 7 2");
    }
}

/// What R, Python and JSON write for a logical column is 1 and 0, as it is in a `.parquet`; a single answer among numbers is none.
#[test]
fn a_column_of_truths_is_one_of_ones_and_zeros() {
    check(pick("id,sick\na,TRUE\nb,NA\nc,FALSE\n", "user", "sick"), "dense [3] [a|b|c] = 1 ? 0");
    check(pick("id,sick\na,\nb,True\n", "user", "sick"), "dense [2] [a|b] = ? 1");
    check(csv(",x,y\na,true,3\nb,false,0.5\n"), "dense [2, 2] [a|b] [x|y] = 1 3 0 0.5");
    check_error(
        pick("id,n\na,1\nb,TRUE\n", "user", "n"),
        "a.csv, line 3, column `n`: found `TRUE`; expected a number, or `NA` or nothing if it is missing (where `TRUE` is an \
         answer, write 1; a column of `TRUE` and `FALSE` alone is read as 1 and 0)",
    );
    check_error(
        pick("id,n\na,TRUE\nb,2\n", "user", "n"),
        "a.csv, line 3, column `n`: found `2`; expected `TRUE` or `FALSE` as in the lines above, or `NA` or nothing if it is \
         missing",
    );
    check_error(
        pick("id,sick\na,no\n", "user", "sick"),
        "a.csv, line 2, column `sick`: found `no`; expected a number, or `NA` or nothing if it is missing (where `no` is an \
         answer, write 0; a column of `TRUE` and `FALSE` alone is read as 1 and 0)",
    );
}

/// Text in a table of few columns says what was meant: a long table under other names, or a column that is no part of the array.
#[test]
fn text_behind_the_first_column_is_answered_with_what_was_meant() {
    let found = "found `soup`; expected a number, or `NA` or nothing if it is missing";
    check_error(
        csv("person,dish,stars\nAna,soup,3\nBo,stew,4\n"),
        &format!(
            "a.csv, line 2, column `dish`: {found} (`--columns NAME=user:person,item:dish,value:stars` if each line is one entry; \
             else the header of a long table names every axis: `user`, `item`)"
        ),
    );
    check_error(
        csv("length,width,dish\n1.5,2,soup\n2,1,stew\n"),
        &format!(
            "a.csv, line 2, column `dish`: {found} (rows by columns are numbers, behind one first column of row labels: leave \
             `dish` out, or make it the first column with an empty name; the header of a long table names every axis: `user`, \
             `item`)"
        ),
    );
    // One wrong cell says nothing of its column.
    check_error(
        csv(",x,y\na,1,soup\nb,2,3\n"),
        &format!(
            "a.csv, line 2, column `y`: {found} (the header of a long table names every axis: `user`, `item`)"
        ),
    );
}

/// A column that is named as the axis of the rows, or as its id, names the rows wherever it stands.
#[test]
fn the_names_of_rows_may_stand_in_any_column() {
    for name in ["patient", "patient_id"] {
        check(
            read("t.csv", format!("g1,{name},g2\n1,11,2\n3,7,4\n"), "patient gene"),
            "dense [2, 2] [11|7] [g1|g2] = 1 2 3 4",
        );
    }
    check_error(
        read("t.csv", "g1,patient,g2\n1,11,2\n3,11,4\n", "patient gene"),
        "t.csv, line 1: found the column `patient`, of which an entry is empty or stands twice; expected a name for each row, since the column is \
         named as the axis of the rows (leave the column out, or give it another name if it holds data)",
    );
    check_error(
        read("t.csv", ",g1,patient_id,g2\n0,1,11,2\n1,3,7,4\n", "patient gene"),
        "t.csv, line 1: found the column `patient_id`, and a first column that names the rows too; expected one column of names of rows (leave one of \
         the two out)",
    );
}

/// What R writes with `write.table(x, sep = ",")`: the row names have no name above them.
#[test]
fn a_header_with_one_name_less_names_the_columns_beside_the_rows() {
    check(csv("\"g1\",\"g2\"\n\"s1\",1,2\n\"s2\",3,4\n"), "dense [2, 2] [s1|s2] [g1|g2] = 1 2 3 4");
    check(csv("\"1\",\"2\"\n\"1\",5,6\n\"2\",7,8\n"), "dense [2, 2] [1|2] [1|2] = 5 6 7 8");
    check(
        read("a.tsv", "g1\tg2\ns1\t1\t2\ns2\t3\tNA\n", "user item"),
        "dense [2, 2] [s1|s2] [g1|g2] = 1 2 3 ?",
    );
    check(csv("user,item,n\n1,a,x,3\n2,b,y,4\n"), "long (a|b) by (x|y) n=3 4");
    // Numbers without quotation marks are no names, and a separator at the end of each line is no column.
    check_error(csv("1,2\n3,4,5\n"), "a.csv, line 2: found 3 fields; expected 2, as in the first line");
    check_error(csv("a,b\n3,4,\n5,6,\n"), "a.csv, line 2: found 3 fields; expected 2, as in the first line");
}
